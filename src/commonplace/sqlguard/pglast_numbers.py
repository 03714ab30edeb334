"""Evaluate constant integer expressions of a PostgreSQL statement without running it."""

import operator
from collections.abc import Callable, Sequence
from typing import Any

from pglast import ast

_MAX_DIGITS = 30
_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}


def evaluate_integer(node: Any) -> int | None:
    """None if the value depends on rows."""
    if isinstance(node, ast.TypeCast):
        return evaluate_integer(node.arg)
    if isinstance(node, ast.A_Const):
        return _integer_from_constant(node.val)
    if isinstance(node, ast.A_Expr) and node.name and node.rexpr is not None:
        right, left = evaluate_integer(node.rexpr), 0 if node.lexpr is None else evaluate_integer(node.lexpr)
        sign = node.name[-1].sval
        if right is None or left is None:
            return None
        if sign == "^":
            return int(left ** min(abs(right), 64))
        return _OPERATORS[sign](left, right) if sign in _OPERATORS else None
    return None


def _integer_from_constant(value: Any) -> int | None:
    if isinstance(value, ast.Integer):
        return int(value.ival or 0)
    text = (value.fval if isinstance(value, ast.Float) else getattr(value, "sval", "")) or ""
    try:
        return int(float(text)) if 0 < len(text) < _MAX_DIGITS else None
    except (ValueError, OverflowError):
        return None


def evaluate_series_length(arguments: Sequence[Any]) -> int | None:
    numbers = [evaluate_integer(argument) for argument in arguments]
    if len(numbers) < 2 or any(number is None for number in numbers):  # noqa: PLR2004 - from and to
        return None
    first, last, step = (*[number or 0 for number in numbers], 1)[:3]
    return (last - first) // (step or 1)
