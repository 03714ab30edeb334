"""What a query gave, bounded while it is read: rows, cells, bytes."""

import datetime as dt
import decimal
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from commonplace import errors

MOST_CELL = 65_536
MOST_BYTES = 1_000_000
_CELL_COST = 4
_EXACT = 2**53


@dataclass
class Rows:
    most: int
    columns: list[str] = field(default_factory=list)
    rows: list[list[Any]] = field(default_factory=list)
    truncated: bool = False
    size: int = 0
    widest: int = 1

    def add(self, values: Sequence[Any]) -> bool:
        """Take a row; False when this was one too many."""
        if len(self.rows) >= self.most or self.size >= MOST_BYTES:
            self.truncated = True
            return False
        row = [self._cell(value) for value in values]
        cost = sum(len(cell) if isinstance(cell, str) else _CELL_COST for cell in row)
        self.size += cost
        self.widest = max(self.widest, cost)
        self.rows.append(row)
        return True

    @property
    def batch(self) -> int:
        """How many rows may be fetched at once without holding much more than the limit."""
        return max(1, min(100, MOST_BYTES // 4 // self.widest, self.most + 1 - len(self.rows)))

    def _cell(self, value: Any) -> Any:
        shown = plain(value)
        if isinstance(shown, str) and len(shown) > MOST_CELL:
            self.truncated = True
            return shown[:MOST_CELL] + "…"
        return shown


def plain(value: Any) -> Any:
    """A value as JSON has it; numbers stay numbers while that is exact."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, decimal.Decimal):
        return _number(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return "0x" + bytes(value[: MOST_CELL // 2]).hex()
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return value.isoformat()
    return str(value)


def _number(value: decimal.Decimal) -> int | float | str:
    if not value.is_finite():
        return str(value)
    if value == value.to_integral_value() and abs(value) < _EXACT:
        return int(value)
    near = float(value)
    return near if decimal.Decimal(repr(near)) == value else str(value)


def too_slow(name: str, seconds: float) -> errors.TooLarge:
    return errors.TooLarge(
        f"'{name}' was still working after {seconds:g} s; the query was cancelled.",
        hint="Ask for less: narrow it with WHERE, or look at fewer rows.",
    )


def unreachable(name: str) -> errors.Unavailable:
    return errors.Unavailable(
        f"The database '{name}' cannot be reached.", hint="Ask its operator; the server's log says more."
    )


def said_no(name: str, code: object, message: str) -> errors.Refusal:
    """The database's own words; they come from the server and name no address or password of ours."""
    return errors.Invalid(
        f"'{name}' says: {message} ({code})", hint="Correct the query; action schema shows names."
    )
