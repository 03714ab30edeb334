"""Numbers that a tree spells out, as far as they can be known without running it."""

import operator
from collections.abc import Callable
from typing import Any

from sqlglot import exp

_LONGEST_DIGITS = 30
_SIGNS: dict[type[exp.Expr], Callable[[int, int], int]] = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
    exp.BitwiseLeftShift: lambda left, right: left << min(max(right, 0), 64),
}


def whole_number(node: Any) -> int | None:
    """None where it depends on rows."""
    if isinstance(node, exp.Paren | exp.Cast | exp.TryCast):
        return whole_number(node.this)
    if isinstance(node, exp.Neg):
        inner = whole_number(node.this)
        return None if inner is None else -inner
    if isinstance(node, exp.Literal):
        return _literal(node.name)
    if type(node) in _SIGNS:
        left, right = whole_number(node.this), whole_number(node.expression)
        return None if left is None or right is None else _SIGNS[type(node)](left, right)
    return None


def _literal(text: str) -> int | None:
    try:
        return int(float(text)) if 0 < len(text) < _LONGEST_DIGITS else None
    except (ValueError, OverflowError):
        return None
