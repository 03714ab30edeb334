"""Check a PostgreSQL statement: parse it with the server's own grammar, check every node against allow lists, and
generate the text to send from the tree."""

import operator
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pglast
from pglast import ast, enums, parser

from commonplace import errors
from commonplace.sqlguard import dialect
from commonplace.sqlguard.dialect import (
    CheckedStatement,
    SqlName,
    forbidden_function,
    forbidden_statement,
    require_one_statement,
)
from commonplace.sqlguard.postgresql import ACTING_FUNCTIONS, POSTGRESQL

# They contain passwords of other servers.
_SECRET_VIEWS = re.compile(r"_?pg_|.*user_mapping|.*foreign_server|.*foreign_data_wrapper")
# Settings that name files, hosts or credentials of the server.
_SECRET_SETTINGS = re.compile(
    r"all$|.*(file|directory|directories|command|path|conninfo|library|libraries|password|ssl_|krb_|listen_|socket)",
    re.IGNORECASE,
)
_READABLE_SETTINGS = frozenset({"search_path", "password_encryption"})
_SAMPLING_METHODS = frozenset({"bernoulli", "system"})
_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "^": lambda left, right: int(left ** min(abs(right), 64)),
}
_REGEX_OPERATORS = frozenset({"~", "~*", "!~", "!~*"})
_LENGTH_ARGUMENT_INDEX = {"repeat": 1, "lpad": 1, "rpad": 1}
_POSITION_FIELDS = frozenset(
    {"location", "stmt_location", "stmt_len", "rexpr_list_start", "rexpr_list_end", "list_start", "list_end"}
)


def check_postgresql(sql: str) -> CheckedStatement:
    statement = _parse_statement(sql)
    checked = CheckedStatement()
    _require_reading_statement(statement, checked)
    _check_tree(statement, checked)
    checked.sql = _write_from_tree(sql, statement)
    return checked


def _parse_statement(sql: str) -> Any:
    try:
        return require_one_statement(pglast.parse_sql(sql)).stmt
    except parser.ParseError as error:
        raise errors.Invalid(
            f"PostgreSQL cannot parse this: {error.args[0]}.", hint="Correct the SQL."
        ) from None


def _write_from_tree(sql: str, statement: Any) -> str:
    """Generate the text with PostgreSQL's own code; it must parse to the same tree."""
    try:
        written = str(parser.deparse_protobuf(parser.parse_sql_protobuf(sql)))
        same = _build_shape(_parse_statement(written)) == _build_shape(statement)
    except pglast.error.Error:
        same = False
    if not same:
        raise dialect.changed_statement()
    return written


def _build_shape(node: Any) -> Any:
    if isinstance(node, ast.Node):
        return type(node).__name__, [
            (name, _build_shape(value))
            for name in node
            if name not in _POSITION_FIELDS and (value := getattr(node, name)) is not None
        ]
    if isinstance(node, tuple):
        return [_build_shape(item) for item in node]
    return node


def _require_reading_statement(statement: Any, checked: CheckedStatement) -> None:
    if isinstance(statement, ast.SelectStmt):
        return
    checked.can_wrap = False
    if isinstance(statement, ast.ExplainStmt) and isinstance(statement.query, ast.SelectStmt):
        for option in statement.options or ():
            if option.defname not in POSTGRESQL.names("explain_options"):
                raise forbidden_statement(f"The EXPLAIN option {option.defname} is not allowed.")
        return
    if isinstance(statement, ast.VariableShowStmt):
        _require_readable_setting(statement.name or "all")
        return
    kind = type(statement).__name__.removesuffix("Stmt")
    raise forbidden_statement(f"{kind} is not a read-only statement.")


def _require_readable_setting(name: str) -> None:
    if name.lower() not in _READABLE_SETTINGS and _SECRET_SETTINGS.match(name):
        raise forbidden_statement(
            f"The setting {name} may not be read.", "Read a setting that does not name a file or host."
        )


def _check_tree(statement: Any, checked: CheckedStatement) -> None:
    for node in _iterate_nodes(statement):
        kind = type(node).__name__
        if kind in ("ExplainStmt", "VariableShowStmt", "DefElem") and not checked.can_wrap:
            continue
        if kind not in POSTGRESQL.names("nodes"):
            raise forbidden_statement(f"{kind} is not allowed in a read-only statement.")
        if visit := _CHECKS.get(kind):
            visit(node, checked)
    own = {str(cte.ctename) for cte in _iterate_nodes(statement) if isinstance(cte, ast.CommonTableExpr)}
    checked.relations = {
        relation for relation in checked.relations if relation.schema or relation.name not in own
    }
    for node in _iterate_nodes(statement):
        if isinstance(node, ast.SelectStmt):
            _require_bounded_select(node, own)


def _iterate_nodes(start: Any) -> Iterator[Any]:
    pending: list[Any] = [start]
    while pending:
        node = pending.pop()
        if isinstance(node, tuple):
            pending.extend(node)
        elif isinstance(node, ast.Node):
            yield node
            pending.extend(getattr(node, name) for name in node)


def _build_name(parts: Any) -> SqlName:
    texts = [str(part.sval) for part in parts if isinstance(part, ast.String)]
    return SqlName(texts[-1], ".".join(texts[:-1]))


def _check_function_call(node: Any, checked: CheckedStatement) -> None:
    name = _build_name(node.funcname)
    _check_function_name(name, checked)
    arguments = node.args or ()
    constants = [argument.val.sval if _is_text(argument) else None for argument in arguments]
    if name.name.startswith("regexp_") and len(constants) > 1 and constants[1] is not None:
        dialect.require_bounded_pattern(constants[1])
    if name.name == "current_setting":
        _require_readable_setting((constants and constants[0]) or "all")
    if name.name in _LENGTH_ARGUMENT_INDEX and len(arguments) > _LENGTH_ARGUMENT_INDEX[name.name]:
        length = _evaluate_integer(arguments[_LENGTH_ARGUMENT_INDEX[name.name]])
        dialect.require_max_count(length, dialect.MAX_STRING_REPEATS, f"A {name.name}")
    if name.name == "generate_series":
        dialect.require_max_count(_evaluate_series_length(arguments), dialect.MAX_SERIES_ROWS, "A series")


def _check_function_name(name: SqlName, checked: CheckedStatement) -> None:
    is_listed = name.name in POSTGRESQL.functions
    if name.schema == "pg_catalog" or (is_listed and not name.schema):
        if not is_listed:
            raise forbidden_function(name)
        if not name.schema:
            checked.builtin_functions.add(name)
    elif ACTING_FUNCTIONS.match(name.name) or name.schema == "information_schema":
        raise forbidden_function(name)
    else:
        checked.user_functions.add(name)


def _is_text(node: Any) -> bool:
    return isinstance(node, ast.A_Const) and isinstance(node.val, ast.String)


def _check_expression(node: Any, checked: CheckedStatement) -> None:
    if node.name:
        _check_operator(node.name, checked)
        pattern = node.rexpr
        if _build_name(node.name).name in _REGEX_OPERATORS and _is_text(pattern):
            dialect.require_bounded_pattern(pattern.val.sval)


def _check_operator(parts: Any, checked: CheckedStatement) -> None:
    name = _build_name(parts)
    if name.schema not in ("", "pg_catalog") or (
        name.name not in POSTGRESQL.names("operators") and "BETWEEN" not in name.name
    ):
        checked.operators.add(name)


def _check_type(node: Any, checked: CheckedStatement) -> None:
    name = _build_name(node.names)
    if name.name not in POSTGRESQL.names("types") or name.schema not in ("", "pg_catalog"):
        checked.types.add(name)


def _check_relation(node: Any, checked: CheckedStatement) -> None:
    name = SqlName(node.relname, node.schemaname or "")
    if node.catalogname:
        raise forbidden_statement(f"{node.catalogname}.{name} is in another database.")
    secret = name.schema == "information_schema" and _SECRET_VIEWS.match(name.name)
    system = name.schema == "pg_catalog" or (not name.schema and name.name.startswith("pg_"))
    hidden = name.schema.startswith("pg_") and name.schema != "pg_catalog"
    if secret or hidden or (system and name.name not in POSTGRESQL.names("relations")):
        raise forbidden_statement(
            f"Agents may not read the relation {name}.", "Read tables, views or their columns."
        )
    if not system and name.schema != "information_schema":
        checked.relations.add(name)


def _check_field(node: Any, checked: CheckedStatement) -> None:
    """PostgreSQL reads `(x).f` as f(x) if x has no column f, so a field is checked like a function call."""
    for part in node.indirection:
        if isinstance(part, ast.String):
            name = str(part.sval)
            is_listed = name in POSTGRESQL.functions
            if not is_listed and ACTING_FUNCTIONS.match(name):
                raise forbidden_function(name)
            checked.fields.add(name)


def _check_column(node: Any, checked: CheckedStatement) -> None:
    if len(node.fields) > 1 and isinstance(node.fields[-1], ast.String):
        checked.attributes.add(str(node.fields[-1].sval))


def _check_sample(node: Any, _: CheckedStatement) -> None:
    if str(_build_name(node.method)) not in _SAMPLING_METHODS:
        raise forbidden_function(_build_name(node.method))


def _check_sublink(node: Any, checked: CheckedStatement) -> None:
    if node.operName:
        _check_operator(node.operName, checked)


def _check_sort(node: Any, checked: CheckedStatement) -> None:
    if node.useOp:
        _check_operator(node.useOp, checked)


_CHECKS: dict[str, Callable[[Any, CheckedStatement], None]] = {
    "A_Expr": _check_expression,
    "A_Indirection": _check_field,
    "ColumnRef": _check_column,
    "FuncCall": _check_function_call,
    "RangeTableSample": _check_sample,
    "RangeVar": _check_relation,
    "SortBy": _check_sort,
    "SubLink": _check_sublink,
    "TypeName": _check_type,
}


def _require_bounded_select(select: Any, own: set[str]) -> None:
    free = sum(_count_tables(item, own) for item in select.fromClause or ())
    dialect.require_join_condition(free, filtered=select.whereClause is not None)
    if select.withClause and select.withClause.recursive and select.limitCount is None:
        for cte in select.withClause.ctes:
            if isinstance(cte.ctequery, ast.SelectStmt) and not cte.cycle_clause:
                _require_bounded_recursion(cte.ctename, cte.ctequery)


def _count_tables(item: Any, own: set[str]) -> int:
    """How many tables this item of FROM multiplies; subqueries and most functions do not count."""
    if isinstance(item, ast.JoinExpr):
        both = _count_tables(item.larg, own), _count_tables(item.rarg, own)
        named = item.quals is not None and any(
            isinstance(node, ast.ColumnRef) for node in _iterate_nodes(item.quals)
        )
        joined = named or item.usingClause or item.isNatural
        return max(both) if joined else sum(both)
    if isinstance(item, ast.RangeFunction):
        calls = [call for call in _iterate_nodes(item) if isinstance(call, ast.FuncCall)]
        return int(any(_build_name(call.funcname).name == "generate_series" for call in calls))
    return int(isinstance(item, ast.RangeVar) and item.relname not in own)


def _require_bounded_recursion(name: str, query: Any) -> None:
    again = query.rarg
    if query.op == enums.SetOperation.SETOP_NONE or again is None or query.limitCount is not None:
        return
    tables = [*(again.fromClause or ())]
    if len(tables) != 1 or not isinstance(tables[0], ast.RangeVar) or tables[0].relname != name:
        return
    if again.whereClause is None:
        raise dialect.endless_recursion()


def _evaluate_integer(node: Any) -> int | None:
    """The value of a constant expression; None if it depends on rows."""
    if isinstance(node, ast.TypeCast):
        return _evaluate_integer(node.arg)
    if isinstance(node, ast.A_Const):
        value = node.val
        if isinstance(value, ast.Integer):
            return int(value.ival or 0)
        text = value.fval if isinstance(value, ast.Float) else getattr(value, "sval", "")
        return dialect.parse_integer(text or "")
    if isinstance(node, ast.A_Expr) and node.name and node.name[-1].sval in _ARITHMETIC:
        right, left = (
            _evaluate_integer(node.rexpr),
            0 if node.lexpr is None else _evaluate_integer(node.lexpr),
        )
        if right is None or left is None:
            return None
        return _ARITHMETIC[node.name[-1].sval](left, right)
    return None


def _evaluate_series_length(arguments: Sequence[Any]) -> int | None:
    numbers = [_evaluate_integer(argument) for argument in arguments]
    if len(numbers) < 2 or None in numbers:  # noqa: PLR2004 - from and to
        return None
    first, last, step = (*[number or 0 for number in numbers], 1)[:3]
    return (last - first) // (step or 1)
