"""Refuse statements that would exhaust time or memory: cross joins, endless recursion, huge strings, explosive patterns.

The limits at run time hold without this; a refusal only says at once what a timeout would say later.
"""

import re

from sqlglot import exp

from commonplace.sqlguard import verdict
from commonplace.sqlguard.dialects import Dialect
from commonplace.sqlguard.sqlglot_numbers import evaluate_integer

__all__ = ["evaluate_integer", "require_bounded_statement"]

_LENGTH_FUNCTIONS = frozenset(
    {"repeat", "space", "pad", "lpad", "rpad", "replicate", "zeroblob", "randomblob", "str", "left"}
)
_FORMAT_FUNCTIONS = frozenset({"printf", "format"})
_WIDE_FORMAT = re.compile(r"%[^a-zA-Z%]*(\*|\d{5,})")


def require_bounded_statement(dialect: Dialect, tree: exp.Expr) -> None:
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


def _require_bounded_length(dialect: Dialect, node: exp.Func) -> None:
    name = (node.name if isinstance(node, exp.Anonymous) else node.sql_name()).lower()
    arguments = list(node.iter_expressions())
    if name in _LENGTH_FUNCTIONS:
        for argument in arguments:
            if not (isinstance(argument, exp.Literal) and argument.is_string):
                verdict.require_max_count(evaluate_integer(argument), verdict.MAX_STRING_REPEATS, f"A {name}")
    elif name == "generate_series":
        for argument in arguments:
            verdict.require_max_count(evaluate_integer(argument), verdict.MAX_SERIES_ROWS, "A series")
    elif (
        dialect == "sqlite"
        and name in _FORMAT_FUNCTIONS
        and arguments
        and _WIDE_FORMAT.search(arguments[0].name)
    ):
        raise verdict.forbidden_statement(f"The {name} has a width over 9,999.", "Use a smaller width.")


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
