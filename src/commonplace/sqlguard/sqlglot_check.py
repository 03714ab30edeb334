"""Check a MySQL, SQL Server or SQLite statement: parse it with sqlglot, check every node against allow lists, and
generate the text to send from the tree.

The generated text is parsed and checked again, so that exactly what is sent was allowed; its function calls are also
checked token by token, however the tree represents them.
"""

import itertools
import logging
import operator
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.dialects.mysql import MySQL
from sqlglot.generators.mysql import MySQLGenerator

from commonplace import errors
from commonplace.sqlguard import dialect as verdict
from commonplace.sqlguard.dialect import (
    CheckedStatement,
    SqlDialect,
    forbidden_function,
    forbidden_statement,
    load_names,
)

# sqlglot warns when it falls back to a raw command, which is refused here anyway.
logging.getLogger("sqlglot").setLevel(logging.CRITICAL)


class MySqlMariaDb(MySQL):
    """sqlglot knows a dialect by the name of its class in lower case."""

    class Generator(MySQLGenerator):
        # MariaDB has the operator and not the function.
        TRANSFORMS = MySQLGenerator.TRANSFORMS | {
            exp.RegexpLike: lambda self, node: self.binary(node, "REGEXP"),
        }


# Some malformed statements, such as a lone SHOW, end sqlglot's parser with an error of Python.
_PARSER_FAULTS = (LookupError, AttributeError, TypeError, ValueError)
_TOKEN = sqlglot.TokenType
_READING_STATEMENTS = (exp.Select, exp.SetOperation, exp.Values, exp.Subquery)
_MAX_RECURSION = 1000
_MAX_OPEN_JOINS = 8
_JOINS_WITHOUT_CONDITION = (_TOKEN.CROSS, _TOKEN.NATURAL)
# Classes that sqlglot treats as functions or values, but that have effects or contain SQL.
_ACTING_NODES = frozenset(
    {"Command", "NextValueFor", "Parameter", "Placeholder", "ReadCSV", "ReadParquet", "Transaction"}
)
_LENGTH_FUNCTIONS = frozenset(
    {"repeat", "space", "pad", "lpad", "rpad", "replicate", "zeroblob", "randomblob", "str", "left"}
)
_FORMAT_FUNCTIONS = frozenset({"printf", "format"})
_ARITHMETIC: dict[type[exp.Expr], Callable[[int, int], int]] = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
    exp.BitwiseLeftShift: lambda left, right: left << min(max(right, 0), 64),
}


def check_with_sqlglot(dialect: SqlDialect, sql: str) -> CheckedStatement:
    beginning, text = dialect.split_statement(sql)
    if not text:
        return CheckedStatement(sql=beginning, can_wrap=False)
    tree = _parse_and_check(dialect, text)
    written = _write_sql(dialect, tree)
    again = _parse_and_check(dialect, written)
    if _write_sql(dialect, again) != written:
        raise verdict.changed_statement()
    _check_call_tokens(dialect, written, again)
    return _describe_statement(dialect, tree, beginning + written)


@lru_cache(maxsize=256)
def check_view_definition(dialect: SqlDialect, definition: str) -> CheckedStatement:
    """Check the query of a view: `CREATE VIEW ... AS` of SQLite, or what MySQL shows of it."""
    tree = _parse_one_statement(dialect, definition)
    query = tree.expression if isinstance(tree, exp.Create) else tree
    _check_tree(dialect, query)
    return _describe_statement(dialect, query, definition)


def _describe_statement(dialect: SqlDialect, tree: exp.Expr, sql: str) -> CheckedStatement:
    tables = [table for table in tree.find_all(exp.Table) if isinstance(table.this, exp.Identifier)]
    return CheckedStatement(
        sql=sql,
        relations={verdict.SqlName(table.name, table.db) for table in tables},
        table_functions=_list_search_calls(dialect, tree),
    )


def _list_search_calls(dialect: SqlDialect, tree: exp.Expr) -> set[str]:
    return {node.name.lower() for node in tree.find_all(exp.Anonymous) if _is_search_call(dialect, node)}


def _is_search_call(dialect: SqlDialect, node: exp.Expr) -> bool:
    return (
        dialect.calls_search_tables
        and isinstance(node.parent, exp.Table)
        and node.name.lower() not in dialect.functions
        and len(node.expressions) == 1
    )


def _parse_and_check(dialect: SqlDialect, sql: str) -> exp.Expr:
    tree = _parse_one_statement(dialect, sql)
    _check_tree(dialect, tree)
    return tree


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


def _parse_one_statement(dialect: SqlDialect, sql: str) -> exp.Expr:
    try:
        _refuse_open_joins(sqlglot.tokenize(sql, dialect.grammar))
        parsed = sqlglot.parse(sql, dialect=dialect.grammar)
    except (sqlglot.errors.SqlglotError, *_PARSER_FAULTS) as error:
        message = str(error).split("\n")[0].replace("\x1b[4m", "").replace("\x1b[0m", "")
        raise errors.Invalid(
            f"This cannot be parsed as one read-only {dialect.name} statement: {message}",
            hint="Send one SELECT statement; correct its SQL.",
        ) from None
    statements = [tree for tree in parsed if tree is not None and not isinstance(tree, exp.Semicolon)]
    tree: exp.Expr = verdict.require_one_statement(statements)
    return tree


def _write_sql(dialect: SqlDialect, tree: exp.Expr) -> str:
    text: str = tree.sql(dialect=dialect.grammar, identify=True, comments=False)
    return text


def _check_tree(dialect: SqlDialect, tree: exp.Expr) -> None:
    dialect.correct_tree(tree)
    _require_reading_statement(dialect, tree)
    nodes, described = load_names("sqlglot")["nodes"], isinstance(tree, exp.Describe)
    for node in tree.walk():
        kind = type(node).__name__
        if kind in _ACTING_NODES:
            is_allowed = _is_session_variable(dialect, node)
        else:
            is_format = described and isinstance(node, exp.FileFormatProperty)
            is_allowed = kind in nodes or isinstance(node, exp.Func) or is_format
        if not is_allowed:
            raise forbidden_statement(f"{kind} is not allowed in a read-only statement.")
        _check_node(dialect, node)
    _require_bounded_statement(dialect, tree)


def _is_session_variable(dialect: SqlDialect, node: exp.Expr) -> bool:
    """For example @@version, which sqlglot parses as a parameter of a parameter."""
    inner = node.this if isinstance(node, exp.Parameter) else None
    outer = node.parent if isinstance(node.parent, exp.Parameter) else None
    pair = inner if isinstance(inner, exp.Parameter) else node if outer is not None else None
    return isinstance(pair, exp.Parameter) and bool(dialect.session_variables.fullmatch(pair.name))


def _require_reading_statement(dialect: SqlDialect, tree: exp.Expr) -> None:
    if isinstance(tree, _READING_STATEMENTS):
        return
    can_show = dialect.show_commands is not verdict.NO_NAME
    if (
        can_show
        and isinstance(tree, exp.Describe)
        and isinstance(tree.this, (*_READING_STATEMENTS, exp.Table))
    ):
        return
    if isinstance(tree, exp.Show) and dialect.show_commands.fullmatch(tree.name):
        _require_readable_relation(dialect, "", tree.text("db"), tree.text("target"))
        return
    word = "EXPLAIN" if isinstance(tree, exp.Describe) else tree.key.upper()
    raise forbidden_statement(f"{word} is not a read-only statement.")


def _check_node(dialect: SqlDialect, node: exp.Expr) -> None:
    if isinstance(node, exp.Table):
        _check_table(dialect, node)
    elif isinstance(node, exp.Anonymous | exp.AnonymousAggFunc):
        if _is_search_call(dialect, node):
            _require_readable_relation(dialect, "", "", node.name)
        elif node.name.lower() not in dialect.functions | load_names("sqlglot")["syntax"]:
            raise forbidden_function(node.name)
    elif isinstance(node, exp.SessionParameter) and not dialect.session_variables.fullmatch(node.name):
        raise forbidden_statement(f"The setting {node.name} may not be read.")
    elif (
        isinstance(node, exp.Identifier)
        and not node.quoted
        and node.name.lower() in dialect.names("reserved")
    ):
        raise forbidden_statement(
            f"The server reads {node.name} as the beginning of another statement.",
            f"Write [{node.name}] if it is a name.",
        )
    elif isinstance(node, exp.QueryOption | exp.WithTableHint | exp.ForClause):
        _check_option(dialect, node)
    if isinstance(node, exp.Func) and isinstance(node.parent, exp.Dot):
        raise forbidden_function(node.parent.sql(dialect=dialect.grammar))


def _check_table(dialect: SqlDialect, table: exp.Table) -> None:
    if isinstance(table.this, exp.Dot):
        raise forbidden_statement(f"{table.sql(dialect=dialect.grammar)} is on another server.")
    if isinstance(table.this, exp.Func) and table.args.get("db"):
        raise forbidden_function(table.sql(dialect=dialect.grammar))
    name = table.name if isinstance(table.this, exp.Identifier) else ""
    _require_readable_relation(dialect, table.catalog, table.db, name)


def _require_readable_relation(dialect: SqlDialect, catalog: str, schema: str, name: str) -> None:
    parts = catalog.lower(), schema.lower(), name.lower()
    if dialect.is_hidden_relation(*parts):
        full = ".".join(part for part in parts if part)
        raise forbidden_statement(f"Agents may not read the relation {full}.", "Read tables and views.")


def _check_option(dialect: SqlDialect, node: exp.Expr) -> None:
    if isinstance(node, exp.WithTableHint):
        allowed = dialect.names("table_hints")
        forbidden = [hint.name for hint in node.expressions if hint.name.lower() not in allowed]
        if forbidden:
            raise forbidden_statement(
                f"The table hint {forbidden[0]} is not allowed.", "Remove it, or use NOLOCK."
            )
    elif isinstance(node, exp.ForClause):
        if node.text("kind").upper() not in ("JSON", "XML"):
            raise forbidden_statement(f"FOR {node.text('kind')} is not allowed.")
    elif not isinstance(node.parent, exp.ForClause):
        amount = _evaluate_integer(node.expression)
        endless = node.name.lower() == "maxrecursion" and not 0 < (amount or 0) <= _MAX_RECURSION
        if not dialect.query_options.fullmatch(node.name) or endless:
            raise forbidden_statement(f"OPTION ({node.name}) is not allowed.")


def _check_call_tokens(dialect: SqlDialect, written: str, tree: exp.Expr) -> None:
    """Every word before a parenthesis must be an allowed function, a keyword, or an alias with a column list."""
    named = {alias.name.lower() for alias in tree.find_all(exp.TableAlias) if alias.args.get("columns")}
    searched = _list_search_calls(dialect, tree)
    tokens = sqlglot.tokenize(written, dialect.grammar)
    for word, bracket in itertools.pairwise(tokens):
        if bracket.token_type != _TOKEN.L_PAREN:
            continue
        text = word.text.lower()
        if word.token_type == _TOKEN.IDENTIFIER:
            is_allowed = text in named or text in searched or isinstance(tree, exp.Show)
        elif re.match(r"\w", text) and word.token_type not in (_TOKEN.STRING, _TOKEN.NUMBER):
            is_allowed = (
                text in dialect.functions or text.split()[-1] in load_names("sqlglot")["syntax"] | searched
            )
        else:
            continue
        if not is_allowed:
            raise forbidden_function(word.text)


def _require_bounded_statement(dialect: SqlDialect, tree: exp.Expr) -> None:
    """Refuse what would exhaust time or memory: cross joins, endless recursion, huge strings, explosive patterns. The
    limits at run time hold without this; a refusal only says at once what a timeout would say later."""
    own = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    for node in tree.walk():
        if isinstance(node, exp.Select):
            free = sum(_count_tables(item, own) for item in _list_unjoined_sources(node))
            verdict.require_join_condition(free, filtered=node.args.get("where") is not None)
        elif isinstance(node, exp.CTE):
            _require_bounded_recursion(node)
        elif isinstance(node, exp.RegexpLike) and isinstance(node.expression, exp.Literal):
            verdict.require_bounded_pattern(node.expression.name)
        elif isinstance(node, exp.Func):
            _require_bounded_length(dialect, node)


def _require_bounded_length(dialect: SqlDialect, node: exp.Func) -> None:
    name = (node.name if isinstance(node, exp.Anonymous) else node.sql_name()).lower()
    arguments = list(node.iter_expressions())
    if name in _LENGTH_FUNCTIONS:
        for argument in arguments:
            if not (isinstance(argument, exp.Literal) and argument.is_string):
                verdict.require_max_count(
                    _evaluate_integer(argument), verdict.MAX_STRING_REPEATS, f"A {name}"
                )
    elif name == "generate_series":
        for argument in arguments:
            verdict.require_max_count(_evaluate_integer(argument), verdict.MAX_SERIES_ROWS, "A series")
    elif name in _FORMAT_FUNCTIONS and arguments and dialect.wide_format.search(arguments[0].name):
        raise forbidden_statement(f"The {name} has a width over 9,999.", "Use a smaller width.")


def _list_unjoined_sources(select: exp.Select) -> list[exp.Expr]:
    """The relations that no condition joins to the ones before them."""
    first = select.args.get("from_")
    joins = [join.this for join in select.args.get("joins") or () if not _is_joined(join)]
    return ([first.this] if first else []) + joins


def _is_joined(join: exp.Join) -> bool:
    """ON counts only if it names a column: ON TRUE is a cross join."""
    condition = join.args.get("on")
    named = condition is not None and condition.find(exp.Column) is not None
    return named or bool(join.args.get("using") or join.method) or isinstance(join.this, exp.Lateral)


def _count_tables(item: exp.Expr, own: set[str]) -> int:
    """1 for a table; 0 for a subquery or function, which often has one row."""
    return int(
        isinstance(item, exp.Table) and isinstance(item.this, exp.Identifier) and item.name.lower() not in own
    )


def _require_bounded_recursion(cte: exp.CTE) -> None:
    union, owner = cte.this, cte.find_ancestor(exp.Select, exp.SetOperation)
    limited = any(node is not None and node.args.get("limit") for node in (union, owner))
    if not isinstance(union, exp.SetOperation) or limited:
        return
    again = union.expression
    source = again.args.get("from_") if isinstance(again, exp.Select) else None
    if source is None or not isinstance(source.this, exp.Table) or again.args.get("joins"):
        return
    if source.this.name.lower() == cte.alias.lower() and not again.args.get("where"):
        raise verdict.endless_recursion()


def _evaluate_integer(node: Any) -> int | None:
    """The value of a constant expression; None if it depends on rows."""
    if isinstance(node, exp.Paren | exp.Cast | exp.TryCast):
        return _evaluate_integer(node.this)
    if isinstance(node, exp.Neg):
        inner = _evaluate_integer(node.this)
        return None if inner is None else -inner
    if isinstance(node, exp.Literal):
        return verdict.parse_integer(node.name)
    if type(node) in _ARITHMETIC:
        left, right = _evaluate_integer(node.this), _evaluate_integer(node.expression)
        return None if left is None or right is None else _ARITHMETIC[type(node)](left, right)
    return None
