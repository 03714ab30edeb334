"""PostgreSQL: parsed by the server's own grammar, walked by allow-lists, written anew."""

from collections.abc import Callable, Iterator
from typing import Any

import pglast
from pglast import ast, enums, parser

from commonplace import errors
from commonplace.sqlguard import allowed, postgres_names, verdict
from commonplace.sqlguard.pglast_numbers import series_length, whole_number
from commonplace.sqlguard.verdict import Checked, Name, refuse

_REGEX_OPERATORS = frozenset({"~", "~*", "!~", "!~*"})
_LENGTHS = {"repeat": 1, "lpad": 1, "rpad": 1}
_PLACES = frozenset(
    {"location", "stmt_location", "stmt_len", "rexpr_list_start", "rexpr_list_end", "list_start", "list_end"}
)


def check(sql: str) -> Checked:
    statement = _one(_parsed(sql))
    checked = Checked()
    _refuse_root(statement, checked)
    _walk(statement, checked)
    checked.sql = _anew(sql, statement)
    return checked


def _parsed(sql: str) -> tuple[Any, ...]:
    try:
        return pglast.parse_sql(sql)
    except parser.ParseError as wrong:
        raise errors.Invalid(
            f"PostgreSQL cannot read this: {wrong.args[0]}.", hint="Correct the SQL and ask again."
        ) from None


def _one(statements: tuple[Any, ...]) -> Any:
    if len(statements) != 1:
        raise refuse(f"There are {len(statements)} statements; one is allowed.")
    return statements[0].stmt


def _anew(sql: str, statement: Any) -> str:
    """Written from the tree by PostgreSQL's own code; it must read back as the same tree."""
    try:
        written = str(parser.deparse_protobuf(parser.parse_sql_protobuf(sql)))
        same = _shape(_one(_parsed(written))) == _shape(statement)
    except pglast.error.Error:
        same = False
    if not same:
        raise refuse("This statement cannot be written anew without change.", "Write it in a simpler way.")
    return written


def _shape(node: Any) -> Any:
    if isinstance(node, ast.Node):
        return type(node).__name__, [
            (name, _shape(value))
            for name in node
            if name not in _PLACES and (value := getattr(node, name)) is not None
        ]
    if isinstance(node, tuple):
        return [_shape(each) for each in node]
    return node


def _refuse_root(statement: Any, checked: Checked) -> None:
    if isinstance(statement, ast.SelectStmt):
        return
    checked.wraps = False
    if isinstance(statement, ast.ExplainStmt) and isinstance(statement.query, ast.SelectStmt):
        for option in statement.options or ():
            if option.defname not in postgres_names.EXPLAIN_OPTIONS:
                raise refuse(f"EXPLAIN has no option {option.defname} here.")
        return
    if isinstance(statement, ast.VariableShowStmt):
        _refuse_setting(statement.name or "all")
        return
    kind = type(statement).__name__.removesuffix("Stmt")
    raise refuse(f"{kind} is not a statement that only reads.")


def _refuse_setting(name: str) -> None:
    if name.lower() not in postgres_names.READABLE_SETTINGS and postgres_names.SECRET_SETTINGS.match(name):
        raise refuse(f"The setting {name} is not shown.", "Ask for one setting that names no file or host.")


def _walk(statement: Any, checked: Checked) -> None:
    for node in _nodes(statement):
        kind = type(node).__name__
        if kind in ("ExplainStmt", "VariableShowStmt", "DefElem") and not checked.wraps:
            continue
        if kind not in allowed.names("postgresql_nodes"):
            raise refuse(f"{kind} has no place in a statement that only reads.")
        if visit := _VISITS.get(kind):
            visit(node, checked)
    own = {str(cte.ctename) for cte in _nodes(statement) if isinstance(cte, ast.CommonTableExpr)}
    checked.relations = {each for each in checked.relations if each.schema or each.name not in own}
    for node in _nodes(statement):
        if isinstance(node, ast.SelectStmt):
            _refuse_runaway(node, own)


def _nodes(start: Any) -> Iterator[Any]:
    waiting: list[Any] = [start]
    while waiting:
        node = waiting.pop()
        if isinstance(node, tuple):
            waiting.extend(node)
        elif isinstance(node, ast.Node):
            yield node
            waiting.extend(getattr(node, name) for name in node)


def _name(parts: Any) -> Name:
    texts = [str(part.sval) for part in parts if isinstance(part, ast.String)]
    return Name(texts[-1], ".".join(texts[:-1]))


def _function(node: Any, checked: Checked) -> None:
    name = _name(node.funcname)
    _call(name, checked)
    arguments = node.args or ()
    constants = [argument.val.sval if _is_text(argument) else None for argument in arguments]
    if name.name.startswith("regexp_") and len(constants) > 1 and constants[1] is not None:
        verdict.refuse_pattern(constants[1])
    if name.name == "current_setting":
        _refuse_setting((constants and constants[0]) or "all")
    if name.name in _LENGTHS and len(arguments) > _LENGTHS[name.name]:
        length = whole_number(arguments[_LENGTHS[name.name]])
        verdict.refuse_count(length, verdict.MOST_REPEATS, f"A {name.name}")
    if name.name == "generate_series":
        verdict.refuse_count(series_length(arguments), verdict.MOST_SERIES, "A series")


def _call(name: Name, checked: Checked) -> None:
    known = name.name in allowed.functions("postgresql")
    if name.schema == "pg_catalog" or (known and not name.schema):
        if not known:
            raise verdict.refuse_function(name)
        if not name.schema:
            checked.called.add(name)
    elif postgres_names.ACTING_FUNCTIONS.match(name.name) or name.schema == "information_schema":
        raise verdict.refuse_function(name)
    else:
        checked.functions.add(name)


def _is_text(node: Any) -> bool:
    return isinstance(node, ast.A_Const) and isinstance(node.val, ast.String)


def _operation(node: Any, checked: Checked) -> None:
    if node.name:
        _operator(node.name, checked)
        pattern = node.rexpr
        if _name(node.name).name in _REGEX_OPERATORS and _is_text(pattern):
            verdict.refuse_pattern(pattern.val.sval)


def _operator(parts: Any, checked: Checked) -> None:
    name = _name(parts)
    if name.schema not in ("", "pg_catalog") or (
        name.name not in allowed.names("postgresql_operators") and "BETWEEN" not in name.name
    ):
        checked.operators.add(name)


def _type(node: Any, checked: Checked) -> None:
    name = _name(node.names)
    if name.name not in allowed.names("postgresql_types") or name.schema not in ("", "pg_catalog"):
        checked.types.add(name)


def _relation(node: Any, checked: Checked) -> None:
    name = Name(node.relname, node.schemaname or "")
    if node.catalogname:
        raise refuse(f"{node.catalogname}.{name} names another database.")
    secret = name.schema == "information_schema" and postgres_names.SECRET_VIEWS.match(name.name)
    system = name.schema == "pg_catalog" or (not name.schema and name.name.startswith("pg_"))
    hidden = name.schema.startswith("pg_") and name.schema != "pg_catalog"
    if secret or hidden or (system and name.name not in allowed.names("postgresql_relations")):
        raise refuse(
            f"{name} is not a relation that agents may read.", "Read tables, views or their columns."
        )
    if not system and name.schema != "information_schema":
        checked.relations.add(name)


def _fields(node: Any, checked: Checked) -> None:
    """PostgreSQL reads `(x).f` as f(x) where x has no column f, so a field is looked at like a call."""
    for part in node.indirection:
        if isinstance(part, ast.String):
            name = str(part.sval)
            known = name in allowed.functions("postgresql")
            if not known and postgres_names.ACTING_FUNCTIONS.match(name):
                raise verdict.refuse_function(name)
            checked.fields.add(name)


def _column(node: Any, checked: Checked) -> None:
    if len(node.fields) > 1 and isinstance(node.fields[-1], ast.String):
        checked.attributes.add(str(node.fields[-1].sval))


def _sample(node: Any, _: Checked) -> None:
    if str(_name(node.method)) not in postgres_names.SAMPLING:
        raise verdict.refuse_function(_name(node.method))


def _sublink(node: Any, checked: Checked) -> None:
    if node.operName:
        _operator(node.operName, checked)


def _sort(node: Any, checked: Checked) -> None:
    if node.useOp:
        _operator(node.useOp, checked)


_VISITS: dict[str, Callable[[Any, Checked], None]] = {
    "A_Expr": _operation,
    "A_Indirection": _fields,
    "ColumnRef": _column,
    "FuncCall": _function,
    "RangeTableSample": _sample,
    "RangeVar": _relation,
    "SortBy": _sort,
    "SubLink": _sublink,
    "TypeName": _type,
}


def _refuse_runaway(select: Any, own: set[str]) -> None:
    free = sum(_free(item, own) for item in select.fromClause or ())
    verdict.refuse_product(free, filtered=select.whereClause is not None)
    if select.withClause and select.withClause.recursive and select.limitCount is None:
        for cte in select.withClause.ctes:
            if isinstance(cte.ctequery, ast.SelectStmt) and not cte.cycle_clause:
                _refuse_endless(cte.ctename, cte.ctequery)


def _free(item: Any, own: set[str]) -> int:
    """How many tables this part of FROM multiplies; what a query computes is not counted."""
    if isinstance(item, ast.JoinExpr):
        both = _free(item.larg, own), _free(item.rarg, own)
        named = item.quals is not None and any(isinstance(node, ast.ColumnRef) for node in _nodes(item.quals))
        joined = named or item.usingClause or item.isNatural
        return max(both) if joined else sum(both)
    if isinstance(item, ast.RangeFunction):
        calls = [call for call in _nodes(item) if isinstance(call, ast.FuncCall)]
        return int(any(_name(call.funcname).name == "generate_series" for call in calls))
    return int(isinstance(item, ast.RangeVar) and item.relname not in own)


def _refuse_endless(name: str, query: Any) -> None:
    again = query.rarg
    if query.op == enums.SetOperation.SETOP_NONE or again is None or query.limitCount is not None:
        return
    tables = [*(again.fromClause or ())]
    if len(tables) != 1 or not isinstance(tables[0], ast.RangeVar) or tables[0].relname != name:
        return
    if again.whereClause is None:
        raise verdict.refuse_endless()
