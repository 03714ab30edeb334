"""Check a MySQL, SQL Server or SQLite statement: parse it with sqlglot, check every node against allow lists, and
generate the text to send from the tree.

The generated text is parsed and checked again, so that exactly what is sent was allowed; its function calls are also
checked token by token, however the tree represents them.
"""

import itertools
import logging
import re
from collections.abc import Sequence
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
from commonplace.sqlguard.verdict import CheckedStatement, forbidden_statement

# sqlglot warns when it falls back to a raw command, which is refused here anyway.
logging.getLogger("sqlglot").setLevel(logging.CRITICAL)


class _MySQL(MySQL):
    class Generator(MySQLGenerator):
        # MariaDB has the operator and not the function.
        TRANSFORMS = MySQLGenerator.TRANSFORMS | {
            exp.RegexpLike: lambda self, node: self.binary(node, "REGEXP"),
        }


# Some malformed statements, such as a lone SHOW, end sqlglot's parser with an error of Python.
_PARSER_FAULTS = (LookupError, AttributeError, TypeError, ValueError)
_DIALECTS: dict[str, Any] = {"mysql": _MySQL, "mssql": TSQL, "sqlite": SQLite}
_TOKEN = sqlglot.TokenType
_READING_STATEMENTS = (exp.Select, exp.SetOperation, exp.Values, exp.Subquery)
_PRAGMA = re.compile(
    r"""pragma\s+(?:main\.)?(\w+)(?:\s*\(\s*(?:'([^']+)'|"([^"]+)"|(\w+))\s*\))?\s*;?\s*""", re.IGNORECASE
)
# MySQL synonyms that sqlglot does not know.
_MYSQL_SHOW_SYNONYM = re.compile(r"\Ashow\s+(?:(indexes|keys)|fields)\b", re.IGNORECASE)
_MYSQL_VALUES = re.compile(r"\Avalues\s*(?:row\s*)?\(", re.IGNORECASE)
_ALLOWED_TABLE_HINTS = frozenset(
    {"nolock", "readuncommitted", "readpast", "forceseek", "forcescan", "noexpand"}
)
_ALLOWED_QUERY_OPTIONS = frozenset(
    {"recompile", "maxdop", "fast", "force order", "hash join", "merge join", "loop join", "maxrecursion"}
)
_MAX_RECURSION = 1000
_MAX_OPEN_JOINS = 8
_JOINS_WITHOUT_CONDITION = (_TOKEN.CROSS, _TOKEN.NATURAL)
# Classes that sqlglot treats as functions or values, but that have effects or contain SQL.
_ACTING_NODES = frozenset(
    {"Command", "NextValueFor", "Parameter", "Placeholder", "ReadCSV", "ReadParquet", "Transaction"}
)


def check_with_sqlglot(dialect: Dialect, sql: str) -> CheckedStatement:
    if dialect == "sqlite" and (pragma := _PRAGMA.fullmatch(_strip_leading_comments(sql))):
        return CheckedStatement(sql=_write_pragma(pragma), can_wrap=False)
    explained, text = _split_explain(dialect, _respell_mysql(sql) if dialect == "mysql" else sql)
    tree = _parse_and_check(dialect, text)
    written = _write_sql(dialect, tree)
    again = _parse_and_check(dialect, written)
    if _write_sql(dialect, again) != written:
        raise forbidden_statement(
            "This statement cannot be generated from its tree without a change.", "Write it in a simpler way."
        )
    _check_call_tokens(dialect, written, again)
    can_wrap = isinstance(tree, _READING_STATEMENTS) and not explained
    return _describe_statement(dialect, tree, explained + written, can_wrap=can_wrap)


def check_view_definition(dialect: Dialect, definition: str) -> CheckedStatement:
    """Check the query of a view: `CREATE VIEW ... AS` of SQLite, or what MySQL shows of it."""
    tree = _parse_one_statement(dialect, definition)
    query = tree.expression if isinstance(tree, exp.Create) else tree
    _correct_tree(dialect, query)
    _check_tree(dialect, query)
    return _describe_statement(dialect, query, definition, can_wrap=False)


def _describe_statement(dialect: Dialect, tree: exp.Expr, sql: str, *, can_wrap: bool) -> CheckedStatement:
    tables = [table for table in tree.find_all(exp.Table) if isinstance(table.this, exp.Identifier)]
    return CheckedStatement(
        sql=sql,
        can_wrap=can_wrap,
        relations={verdict.SqlName(table.name, table.db) for table in tables},
        table_functions=_list_search_calls(dialect, tree),
    )


def _list_search_calls(dialect: Dialect, tree: exp.Expr) -> set[str]:
    """Tables of SQLite's full-text search that are called like a function: `FROM notes('cart')`."""
    return {node.name.lower() for node in tree.find_all(exp.Anonymous) if _is_search_call(dialect, node)}


def _is_search_call(dialect: Dialect, node: exp.Expr) -> bool:
    return (
        dialect == "sqlite"
        and isinstance(node.parent, exp.Table)
        and node.name.lower() not in allowed.load_function_names(dialect)
        and len(node.expressions) == 1
    )


def _respell_mysql(sql: str) -> str:
    """Spellings that sqlglot does not read: synonyms of SHOW, and VALUES as a statement of its own."""
    text = _strip_leading_comments(sql)
    if not _MYSQL_VALUES.match(text):
        return _MYSQL_SHOW_SYNONYM.sub(lambda word: "SHOW INDEX" if word[1] else "SHOW COLUMNS", text)
    try:
        tokens, parts, at = MySQL().tokenize(text), [], 0
    except sqlglot.errors.TokenError:
        return text  # the parser refuses it in words
    for token, bracket in itertools.pairwise(tokens):
        if token.text.upper() == "ROW" and bracket.token_type == _TOKEN.L_PAREN:
            parts.append(text[at : token.start])
            at = token.end + 1
    rows = "".join([*parts, text[at:]]).rstrip().removesuffix(";")
    return f"SELECT * FROM ({rows}) AS row_values"


def _parse_and_check(dialect: Dialect, sql: str) -> exp.Expr:
    tree = _parse_one_statement(dialect, sql)
    _correct_tree(dialect, tree)
    _check_tree(dialect, tree)
    return tree


def _strip_leading_comments(sql: str) -> str:
    """Comments inside the statement are left to the tokenizer."""
    return re.sub(r"\A(?:\s*(?:--[^\n]*(?:\n|\Z)|/\*.*?\*/))+", "", sql, flags=re.DOTALL).strip()


def _write_pragma(match: re.Match[str]) -> str:
    name, argument = match[1].lower(), match[2] or match[3] or match[4]
    if argument is None and name in system_relations.PRAGMAS_WITHOUT_ARGUMENT:
        return f"PRAGMA {name}"
    if argument is None or name not in system_relations.PRAGMAS_WITH_ARGUMENT:
        raise forbidden_statement(
            f"PRAGMA {name} is not allowed.",
            f"Allowed: {', '.join(sorted(system_relations.PRAGMAS_WITH_ARGUMENT))}.",
        )
    return "PRAGMA {}('{}')".format(name, argument.replace("'", "''"))


def _split_explain(dialect: Dialect, sql: str) -> tuple[str, str]:
    """sqlglot has no EXPLAIN for SQLite: split it off, so that the statement behind it is checked."""
    if dialect == "sqlite" and (
        match := re.match(
            r"explain\b(\s+query\s+plan\b)?", bare := _strip_leading_comments(sql), re.IGNORECASE
        )
    ):
        return ("EXPLAIN QUERY PLAN " if match[1] else "EXPLAIN "), bare[match.end() :]
    return "", sql


def _refuse_open_joins(tokens: Sequence[Any]) -> None:
    """The parser tries each join without a condition as the start of a nested one: every further one doubles its time."""
    unmatched = 0
    for before, token in itertools.pairwise(tokens):
        if token.token_type == _TOKEN.JOIN and before.token_type not in _JOINS_WITHOUT_CONDITION:
            unmatched += 1
        elif token.token_type in (_TOKEN.ON, _TOKEN.USING):
            unmatched = max(0, unmatched - 1)
        if unmatched > _MAX_OPEN_JOINS:
            raise errors.Invalid(
                f"The query has more than {_MAX_OPEN_JOINS} joins without a condition.",
                hint="Add ON or USING to each JOIN, or write CROSS JOIN.",
            )


def _parse_one_statement(dialect: Dialect, sql: str) -> exp.Expr:
    try:
        _refuse_open_joins(_DIALECTS[dialect]().tokenize(sql))
        parsed = sqlglot.parse(sql, dialect=_DIALECTS[dialect])
    except (sqlglot.errors.SqlglotError, *_PARSER_FAULTS) as error:
        message = str(error).split("\n")[0].replace("\x1b[4m", "").replace("\x1b[0m", "")
        raise errors.Invalid(
            f"This cannot be parsed as one read-only {dialect} statement: {message}",
            hint="Send one SELECT statement; correct its SQL.",
        ) from None
    statements = [tree for tree in parsed if tree is not None and not isinstance(tree, exp.Semicolon)]
    if len(statements) != 1:
        raise forbidden_statement(f"The query has {len(statements)} statements; only one is allowed.")
    return statements[0]


def _write_sql(dialect: Dialect, tree: exp.Expr) -> str:
    text: str = tree.sql(dialect=_DIALECTS[dialect], identify=True, comments=False)
    return text


def _correct_tree(dialect: Dialect, tree: exp.Expr) -> None:
    """Correct nodes that sqlglot would generate incorrectly."""
    if dialect == "mysql":
        _correct_mysql_tree(tree)
    if dialect == "sqlite":
        for join in tree.find_all(exp.Join):
            # sqlglot reads a comma as CROSS JOIN, which for SQLite alone also fixes the join order.
            if join.kind == "CROSS":
                join.set("kind", None)
                join.set("on", exp.true())
    if dialect == "mssql":
        for column in list(tree.find_all(exp.Column)):
            qualifier, name = column.table, column.name
            if re.fullmatch(r"\$\d*", qualifier or name) and not column.db:
                column.replace(exp.Var(this=f"{qualifier}.{name}" if qualifier else name))


def _correct_mysql_tree(tree: exp.Expr) -> None:
    for query in tree.find_all(exp.Select):
        query.set("hint", None)  # it may only change how a query runs, and SET_VAR more than that
    for source in list(tree.find_all(exp.From)):
        if isinstance(source.this, exp.Table) and source.this.sql().lower() == "dual":
            source.pop()


def _check_tree(dialect: Dialect, tree: exp.Expr) -> None:
    _require_reading_statement(dialect, tree)
    for node in tree.walk():
        kind = type(node).__name__
        is_listed = kind in allowed.load_names("nodes") or isinstance(node, exp.Func)
        if kind in _ACTING_NODES and not _is_session_variable(node):
            raise forbidden_statement(f"{kind} is not allowed in a read-only statement.")
        if not is_listed and kind not in _ACTING_NODES and not isinstance(node, _extra_node_type(tree)):
            raise forbidden_statement(f"{kind} is not allowed in a read-only statement.")
        _check_node(dialect, node)
    sqlglot_runaway.require_bounded_statement(dialect, tree)


def _extra_node_type(tree: exp.Expr) -> type[exp.Expr] | tuple[()]:
    return exp.FileFormatProperty if isinstance(tree, exp.Describe) else ()


def _is_session_variable(node: exp.Expr) -> bool:
    """For example @@version, which sqlglot parses as a parameter of a parameter."""
    inner = node.this if isinstance(node, exp.Parameter) else None
    outer = node.parent if isinstance(node.parent, exp.Parameter) else None
    pair = inner if isinstance(inner, exp.Parameter) else node if outer is not None else None
    return isinstance(pair, exp.Parameter) and bool(
        system_relations.READABLE_SESSION_VARIABLES.match(pair.name)
    )


def _require_reading_statement(dialect: Dialect, tree: exp.Expr) -> None:
    if isinstance(tree, _READING_STATEMENTS):
        return
    if (
        dialect == "mysql"
        and isinstance(tree, exp.Describe)
        and isinstance(tree.this, (*_READING_STATEMENTS, exp.Table))
    ):
        return
    if (
        dialect == "mysql"
        and isinstance(tree, exp.Show)
        and tree.name.upper() in system_relations.SHOW_COMMANDS
    ):
        schema = tree.text("db")
        system_relations.require_readable_relation(dialect, "", schema, tree.text("target"))
        return
    word = "EXPLAIN" if isinstance(tree, exp.Describe) else tree.key.upper()
    raise forbidden_statement(f"{word} is not a read-only statement.")


def _check_node(dialect: Dialect, node: exp.Expr) -> None:
    if isinstance(node, exp.Table):
        _check_table(dialect, node)
    elif isinstance(node, exp.Anonymous | exp.AnonymousAggFunc):
        names = allowed.load_function_names(dialect) | allowed.load_names("syntax")
        if node.name.lower() not in names and not _is_search_call(dialect, node):
            raise verdict.forbidden_function(node.name)
        if _is_search_call(dialect, node):
            system_relations.require_readable_relation(dialect, "", "", node.name)
    elif isinstance(node, exp.SessionParameter) and not system_relations.READABLE_SESSION_VARIABLES.match(
        node.name
    ):
        raise forbidden_statement(f"The setting {node.name} may not be read.")
    elif isinstance(node, exp.Identifier) and dialect == "mssql" and not node.quoted:
        if node.name.lower() in allowed.load_names("mssql_reserved"):
            raise forbidden_statement(
                f"SQL Server reads {node.name} as the beginning of another statement.",
                f"Write [{node.name}] if it is a name.",
            )
    elif isinstance(node, exp.QueryOption | exp.WithTableHint | exp.ForClause):
        _check_option(node)
    if isinstance(node, exp.Func) and isinstance(node.parent, exp.Dot):
        raise verdict.forbidden_function(node.parent.sql(dialect=_DIALECTS[dialect]))


def _check_table(dialect: Dialect, table: exp.Table) -> None:
    if isinstance(table.this, exp.Dot):
        raise forbidden_statement(f"{table.sql(dialect=_DIALECTS[dialect])} is on another server.")
    if isinstance(table.this, exp.Func) and table.args.get("db"):
        raise verdict.forbidden_function(table.sql(dialect=_DIALECTS[dialect]))
    name = table.name if isinstance(table.this, exp.Identifier) else ""
    system_relations.require_readable_relation(dialect, table.catalog, table.db, name)


def _check_option(node: exp.Expr) -> None:
    if isinstance(node, exp.WithTableHint):
        forbidden = [hint.name for hint in node.expressions if hint.name.lower() not in _ALLOWED_TABLE_HINTS]
        if forbidden:
            raise forbidden_statement(
                f"The table hint {forbidden[0]} is not allowed.", "Remove it, or use NOLOCK."
            )
    elif isinstance(node, exp.ForClause):
        if node.text("kind").upper() not in ("JSON", "XML"):
            raise forbidden_statement(f"FOR {node.text('kind')} is not allowed.")
    elif not isinstance(node.parent, exp.ForClause):
        amount = sqlglot_runaway.evaluate_integer(node.expression)
        endless = node.name.lower() == "maxrecursion" and not 0 < (amount or 0) <= _MAX_RECURSION
        if node.name.lower() not in _ALLOWED_QUERY_OPTIONS or endless:
            raise forbidden_statement(f"OPTION ({node.name}) is not allowed.")


def _check_call_tokens(dialect: Dialect, written: str, tree: exp.Expr) -> None:
    """Every word before a parenthesis must be an allowed function, a keyword, or an alias with a column list."""
    named = {alias.name.lower() for alias in tree.find_all(exp.TableAlias) if alias.args.get("columns")}
    searched = _list_search_calls(dialect, tree)
    tokens = _DIALECTS[dialect]().tokenize(written)
    for word, bracket in itertools.pairwise(tokens):
        if bracket.token_type != _TOKEN.L_PAREN:
            continue
        text = word.text.lower()
        if word.token_type == _TOKEN.IDENTIFIER:
            is_allowed = text in named or text in searched or isinstance(tree, exp.Show)
        elif re.match(r"\w", text) and word.token_type not in (_TOKEN.STRING, _TOKEN.NUMBER):
            is_allowed = (
                text in allowed.load_function_names(dialect)
                or text.split()[-1] in allowed.load_names("syntax") | searched
            )
        else:
            continue
        if not is_allowed:
            raise verdict.forbidden_function(word.text)
