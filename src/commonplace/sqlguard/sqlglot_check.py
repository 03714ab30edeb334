"""MySQL, SQL Server and SQLite: parsed by sqlglot with the dialect pinned, walked by allow-lists, written anew.

What is written is read and walked a second time, so that the text that is sent is itself what was allowed, and its
calls are found again in its tokens, whatever the tree called them.
"""

import itertools
import logging
import re
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.dialects.mysql import MySQL
from sqlglot.dialects.sqlite import SQLite
from sqlglot.dialects.tsql import TSQL
from sqlglot.generators.mysql import MySQLGenerator

from commonplace import errors
from commonplace.sqlguard import allowed, sqlglot_runaway, system_relations, verdict
from commonplace.sqlguard.dialects import Dialect
from commonplace.sqlguard.verdict import Checked, refuse

# sqlglot warns where it falls back to a raw command, which is refused here anyway.
logging.getLogger("sqlglot").setLevel(logging.CRITICAL)


class _MySQL(MySQL):
    class Generator(MySQLGenerator):
        # MariaDB has the operator and not the function.
        TRANSFORMS = MySQLGenerator.TRANSFORMS | {
            exp.RegexpLike: lambda self, node: self.binary(node, "REGEXP"),
        }


_DIALECTS: dict[str, Any] = {"mysql": _MySQL, "mssql": TSQL, "sqlite": SQLite}
_TOKEN = sqlglot.TokenType
_ROOTS = (exp.Select, exp.SetOperation, exp.Values, exp.Subquery)
_PRAGMA = re.compile(
    r"""pragma\s+(?:main\.)?(\w+)(?:\s*\(\s*(?:'([^']+)'|"([^"]+)"|(\w+))\s*\))?\s*;?\s*""", re.IGNORECASE
)
# Spellings of MySQL that sqlglot does not know.
_SHOWN = re.compile(r"\Ashow\s+(?:(indexes|keys)|fields)\b", re.IGNORECASE)
_HINTS = frozenset({"nolock", "readuncommitted", "readpast", "forceseek", "forcescan", "noexpand"})
_OPTIONS = frozenset(
    {"recompile", "maxdop", "fast", "force order", "hash join", "merge join", "loop join", "maxrecursion"}
)
_MOST_RECURSION = 1000
# Classes that sqlglot counts as functions or values and that act, or take SQL.
_ACTING = frozenset(
    {"Command", "NextValueFor", "Parameter", "Placeholder", "ReadCSV", "ReadParquet", "Transaction"}
)


def check(dialect: Dialect, sql: str) -> Checked:
    if dialect == "sqlite" and (pragma := _PRAGMA.fullmatch(_bare(sql))):
        return Checked(sql=_pragma(pragma), wraps=False)
    explained, text = _explained(
        dialect,
        _SHOWN.sub(lambda word: "SHOW INDEX" if word[1] else "SHOW COLUMNS", _bare(sql))
        if dialect == "mysql"
        else sql,
    )
    tree = _walked(dialect, text)
    written = _written(dialect, tree)
    again = _walked(dialect, written)
    if _written(dialect, again) != written:
        raise refuse("This statement cannot be written anew without change.", "Write it in a simpler way.")
    _refuse_calls(dialect, written, again)
    return Checked(sql=explained + written, wraps=isinstance(tree, _ROOTS) and not explained)


def _walked(dialect: Dialect, sql: str) -> exp.Expr:
    tree = _one(dialect, sql)
    _mend(dialect, tree)
    _walk(dialect, tree)
    return tree


def _bare(sql: str) -> str:
    """Without the comments before it; those inside are the tokenizer's."""
    return re.sub(r"\A(?:\s*(?:--[^\n]*(?:\n|\Z)|/\*.*?\*/))+", "", sql, flags=re.DOTALL).strip()


def _pragma(match: re.Match[str]) -> str:
    name, argument = match[1].lower(), match[2] or match[3] or match[4]
    if argument is None and name in system_relations.READABLE_PRAGMAS:
        return f"PRAGMA {name}"
    if argument is None or name not in system_relations.PRAGMAS:
        raise refuse(
            f"PRAGMA {name} is not on the list.", f"Known: {', '.join(sorted(system_relations.PRAGMAS))}."
        )
    return "PRAGMA {}('{}')".format(name, argument.replace("'", "''"))


def _explained(dialect: Dialect, sql: str) -> tuple[str, str]:
    """sqlglot has no EXPLAIN for SQLite: the word is taken off, the statement behind it is checked."""
    if dialect == "sqlite" and (
        match := re.match(r"explain\b(\s+query\s+plan\b)?", bare := _bare(sql), re.IGNORECASE)
    ):
        return ("EXPLAIN QUERY PLAN " if match[1] else "EXPLAIN "), bare[match.end() :]
    return "", sql


def _one(dialect: Dialect, sql: str) -> exp.Expr:
    try:
        found = sqlglot.parse(sql, dialect=_DIALECTS[dialect])
    except sqlglot.errors.SqlglotError as wrong:
        said = str(wrong).split("\n")[0].replace("\x1b[4m", "").replace("\x1b[0m", "")
        raise errors.Invalid(
            f"This cannot be read as one {dialect} statement that only reads: {said}",
            hint="Send one SELECT; correct its SQL if it is one.",
        ) from None
    statements = [each for each in found if each is not None and not isinstance(each, exp.Semicolon)]
    if len(statements) != 1:
        raise refuse(f"There are {len(statements)} statements; one is allowed.")
    return statements[0]


def _written(dialect: Dialect, tree: exp.Expr) -> str:
    text: str = tree.sql(dialect=_DIALECTS[dialect], identify=True, comments=False)
    return text


def _mend(dialect: Dialect, tree: exp.Expr) -> None:
    """What sqlglot would write wrongly."""
    if dialect == "mysql":
        for source in list(tree.find_all(exp.From)):
            if isinstance(source.this, exp.Table) and source.this.sql().lower() == "dual":
                source.pop()
    if dialect == "sqlite":
        for join in tree.find_all(exp.Join):
            # sqlglot reads a comma as CROSS JOIN, which for SQLite alone also fixes the order of the loops.
            if join.kind == "CROSS":
                join.set("kind", None)
                join.set("on", exp.true())
    if dialect == "mssql":
        for column in list(tree.find_all(exp.Column)):
            whole, part = column.table, column.name
            if re.fullmatch(r"\$\d*", whole or part) and not column.db:
                column.replace(exp.Var(this=f"{whole}.{part}" if whole else part))


def _walk(dialect: Dialect, tree: exp.Expr) -> None:
    _refuse_root(dialect, tree)
    for node in tree.walk():
        kind = type(node).__name__
        known = kind in allowed.names("nodes") or isinstance(node, exp.Func)
        if kind in _ACTING and not _session_value(node):
            raise refuse(f"{kind} has no place in a statement that only reads.")
        if not known and kind not in _ACTING and not isinstance(node, _describe_part(tree)):
            raise refuse(f"{kind} has no place in a statement that only reads.")
        _visit(dialect, node)
    sqlglot_runaway.refuse(dialect, tree)


def _describe_part(tree: exp.Expr) -> type[exp.Expr] | tuple[()]:
    return exp.FileFormatProperty if isinstance(tree, exp.Describe) else ()


def _session_value(node: exp.Expr) -> bool:
    """@@version and its like, which sqlglot reads as a parameter of a parameter."""
    inner = node.this if isinstance(node, exp.Parameter) else None
    outer = node.parent if isinstance(node.parent, exp.Parameter) else None
    pair = inner if isinstance(inner, exp.Parameter) else node if outer is not None else None
    return isinstance(pair, exp.Parameter) and bool(system_relations.SESSION_PARAMETERS.match(pair.name))


def _refuse_root(dialect: Dialect, tree: exp.Expr) -> None:
    if isinstance(tree, _ROOTS):
        return
    if dialect == "mysql" and isinstance(tree, exp.Describe) and isinstance(tree.this, (*_ROOTS, exp.Table)):
        return
    if dialect == "mysql" and isinstance(tree, exp.Show) and tree.name.upper() in system_relations.SHOWS:
        schema = tree.text("db")
        system_relations.refuse_relation(dialect, "", schema, tree.text("target"))
        return
    word = "EXPLAIN" if isinstance(tree, exp.Describe) else tree.key.upper()
    raise refuse(f"{word} is not a statement that only reads.")


def _visit(dialect: Dialect, node: exp.Expr) -> None:
    if isinstance(node, exp.Table):
        _refuse_table(dialect, node)
    elif isinstance(node, exp.Anonymous | exp.AnonymousAggFunc):
        if node.name.lower() not in allowed.functions(dialect) | allowed.names("syntax"):
            raise verdict.refuse_function(node.name)
    elif isinstance(node, exp.SessionParameter) and not system_relations.SESSION_PARAMETERS.match(node.name):
        raise refuse(f"The setting {node.name} is not shown.")
    elif isinstance(node, exp.Identifier) and dialect == "mssql" and not node.quoted:
        if node.name.lower() in allowed.names("mssql_reserved"):
            raise refuse(
                f"{node.name} begins another statement for SQL Server.",
                f"Write [{node.name}] if it is a name.",
            )
    elif isinstance(node, exp.QueryOption | exp.WithTableHint | exp.ForClause):
        _refuse_option(node)
    if isinstance(node, exp.Func) and isinstance(node.parent, exp.Dot):
        raise verdict.refuse_function(node.parent.sql(dialect=_DIALECTS[dialect]))


def _refuse_table(dialect: Dialect, table: exp.Table) -> None:
    if isinstance(table.this, exp.Dot):
        raise refuse(f"{table.sql(dialect=_DIALECTS[dialect])} names another server.")
    if isinstance(table.this, exp.Func) and table.args.get("db"):
        raise verdict.refuse_function(table.sql(dialect=_DIALECTS[dialect]))
    name = table.name if isinstance(table.this, exp.Identifier) else ""
    system_relations.refuse_relation(dialect, table.catalog, table.db, name)


def _refuse_option(node: exp.Expr) -> None:
    if isinstance(node, exp.WithTableHint):
        strange = [each.name for each in node.expressions if each.name.lower() not in _HINTS]
        if strange:
            raise refuse(f"The hint {strange[0]} is not allowed.", "NOLOCK is.")
    elif isinstance(node, exp.ForClause):
        if node.text("kind").upper() not in ("JSON", "XML"):
            raise refuse(f"FOR {node.text('kind')} is not allowed.")
    elif not isinstance(node.parent, exp.ForClause):
        amount = sqlglot_runaway.whole_number(node.expression)
        endless = node.name.lower() == "maxrecursion" and not 0 < (amount or 0) <= _MOST_RECURSION
        if node.name.lower() not in _OPTIONS or endless:
            raise refuse(f"OPTION ({node.name}) is not allowed.")


def _refuse_calls(dialect: Dialect, written: str, tree: exp.Expr) -> None:
    """Every word before a parenthesis is a function of the list, a word of the grammar, or a name with its columns."""
    named = {alias.name.lower() for alias in tree.find_all(exp.TableAlias) if alias.args.get("columns")}
    tokens = _DIALECTS[dialect]().tokenize(written)
    for word, bracket in itertools.pairwise(tokens):
        if bracket.token_type != _TOKEN.L_PAREN:
            continue
        text = word.text.lower()
        if word.token_type == _TOKEN.IDENTIFIER:
            fits = text in named or isinstance(tree, exp.Show)
        elif re.match(r"\w", text) and word.token_type not in (_TOKEN.STRING, _TOKEN.NUMBER):
            fits = text in allowed.functions(dialect) or text.split()[-1] in allowed.names("syntax")
        else:
            continue
        if not fits:
            raise verdict.refuse_function(word.text)
