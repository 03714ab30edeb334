"""Evaluate constant integer expressions of a sqlglot tree without running it."""

import operator
from collections.abc import Callable
from typing import Any

from sqlglot import exp

_MAX_DIGITS = 30
_OPERATORS: dict[type[exp.Expr], Callable[[int, int], int]] = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
    exp.BitwiseLeftShift: lambda left, right: left << min(max(right, 0), 64),
}


def evaluate_integer(node: Any) -> int | None:
    """None if the value depends on rows."""
    if isinstance(node, exp.Paren | exp.Cast | exp.TryCast):
        return evaluate_integer(node.this)
    if isinstance(node, exp.Neg):
        inner = evaluate_integer(node.this)
        return None if inner is None else -inner
    if isinstance(node, exp.Literal):
        return _integer_from_literal(node.name)
    if type(node) in _OPERATORS:
        left, right = evaluate_integer(node.this), evaluate_integer(node.expression)
        return None if left is None or right is None else _OPERATORS[type(node)](left, right)
    return None


def _integer_from_literal(text: str) -> int | None:
    try:
        return int(float(text)) if 0 < len(text) < _MAX_DIGITS else None
    except (ValueError, OverflowError):
        return None
