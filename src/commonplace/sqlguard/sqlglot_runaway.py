"""Statements that can only run out of bounds: products, endless recursion, huge strings, patterns that explode.

The limits of the run hold without this; a refusal tells at once what a timeout tells late.
"""

import re

from sqlglot import exp

from commonplace.sqlguard import verdict
from commonplace.sqlguard.dialects import Dialect
from commonplace.sqlguard.sqlglot_numbers import whole_number

__all__ = ["refuse", "whole_number"]

_LENGTHS = frozenset(
    {"repeat", "space", "pad", "lpad", "rpad", "replicate", "zeroblob", "randomblob", "str", "left"}
)
_FORMATS = frozenset({"printf", "format"})
_WIDE = re.compile(r"%[^a-zA-Z%]*(\*|\d{5,})")


def refuse(dialect: Dialect, tree: exp.Expr) -> None:
    own = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    for node in tree.walk():
        if isinstance(node, exp.Select):
            free = sum(_free(item, own) for item in _sources(node))
            verdict.refuse_product(free, filtered=node.args.get("where") is not None)
        elif isinstance(node, exp.CTE):
            _refuse_endless(node)
        elif isinstance(node, exp.RegexpLike) and isinstance(node.expression, exp.Literal):
            verdict.refuse_pattern(node.expression.name)
        elif isinstance(node, exp.Func):
            _refuse_length(dialect, node)


def _refuse_length(dialect: Dialect, node: exp.Func) -> None:
    name = (node.name if isinstance(node, exp.Anonymous) else node.sql_name()).lower()
    arguments = list(node.iter_expressions())
    if name in _LENGTHS:
        for argument in arguments:
            if not (isinstance(argument, exp.Literal) and argument.is_string):
                verdict.refuse_count(whole_number(argument), verdict.MOST_REPEATS, f"A {name}")
    elif name == "generate_series":
        for argument in arguments:
            verdict.refuse_count(whole_number(argument), verdict.MOST_SERIES, "A series")
    elif dialect == "sqlite" and name in _FORMATS and arguments and _WIDE.search(arguments[0].name):
        raise verdict.refuse(f"The {name} has a width over 9,999.", "Ask for less.")


def _sources(select: exp.Select) -> list[exp.Expr]:
    """The relations that nothing joins to the ones before them."""
    first = select.args.get("from_")
    joins = [join.this for join in select.args.get("joins") or () if not _joined(join)]
    return ([first.this] if first else []) + joins


def _joined(join: exp.Join) -> bool:
    """ON counts only if it names a column: ON TRUE joins nothing."""
    condition = join.args.get("on")
    named = condition is not None and condition.find(exp.Column) is not None
    return named or bool(join.args.get("using") or join.method) or isinstance(join.this, exp.Lateral)


def _free(item: exp.Expr, own: set[str]) -> int:
    """What a query computes is not counted: it is often one row."""
    return int(
        isinstance(item, exp.Table) and isinstance(item.this, exp.Identifier) and item.name.lower() not in own
    )


def _refuse_endless(cte: exp.CTE) -> None:
    union, owner = cte.this, cte.find_ancestor(exp.Select, exp.SetOperation)
    limited = any(each is not None and each.args.get("limit") for each in (union, owner))
    if not isinstance(union, exp.SetOperation) or limited:
        return
    again = union.expression
    source = again.args.get("from_") if isinstance(again, exp.Select) else None
    if source is None or not isinstance(source.this, exp.Table) or again.args.get("joins"):
        return
    if source.this.name.lower() == cte.alias.lower() and not again.args.get("where"):
        raise verdict.refuse_endless()
