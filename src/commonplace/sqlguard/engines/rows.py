"""The rows of a query, bounded while they are read: number of rows, size of a cell, total size."""

import datetime as dt
import decimal
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from commonplace import errors

MAX_CELL_CHARACTERS = 65_536
MAX_RESULT_BYTES = 1_000_000
_SHORT_CELL_BYTES = 4
_MAX_EXACT_INTEGER = 2**53


@dataclass
class QueryRows:
    max_rows: int
    columns: list[str] = field(default_factory=list)
    rows: list[list[Any]] = field(default_factory=list)
    truncated: bool = False
    total_size: int = 0
    largest_row: int = 1

    def add_row(self, values: Sequence[Any]) -> bool:
        """Add a row; return False if it exceeds the limit."""
        if len(self.rows) >= self.max_rows or self.total_size >= MAX_RESULT_BYTES:
            self.truncated = True
            return False
        row = [self._truncate_cell(value) for value in values]
        cost = sum(len(cell) if isinstance(cell, str) else _SHORT_CELL_BYTES for cell in row)
        self.total_size += cost
        self.largest_row = max(self.largest_row, cost)
        self.rows.append(row)
        return True

    @property
    def batch_size(self) -> int:
        """How many rows to fetch at once without exceeding the limit by much."""
        return max(1, min(100, MAX_RESULT_BYTES // 4 // self.largest_row, self.max_rows + 1 - len(self.rows)))

    def _truncate_cell(self, value: Any) -> Any:
        shown = json_value(value)
        if isinstance(shown, str) and len(shown) > MAX_CELL_CHARACTERS:
            self.truncated = True
            return shown[:MAX_CELL_CHARACTERS] + "…"
        return shown


def json_value(value: Any) -> Any:
    """A value for JSON; a decimal becomes a number only if that is exact."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, decimal.Decimal):
        return _json_number(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return "0x" + bytes(value[: MAX_CELL_CHARACTERS // 2]).hex()
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return value.isoformat()
    return str(value)


def _json_number(value: decimal.Decimal) -> int | float | str:
    if not value.is_finite():
        return str(value)
    if value == value.to_integral_value() and abs(value) < _MAX_EXACT_INTEGER:
        return int(value)
    near = float(value)
    return near if decimal.Decimal(repr(near)) == value else str(value)


def query_timed_out(name: str, seconds: float) -> errors.TooLarge:
    return errors.TooLarge(
        f"The query to '{name}' was cancelled after {seconds:g} s.",
        hint="Narrow it with WHERE, or read fewer rows.",
    )


def database_unreachable(name: str) -> errors.Unavailable:
    return errors.Unavailable(
        f"The database '{name}' cannot be reached.", hint="Tell its operator; see the server log."
    )


def query_refused(name: str, code: object, message: str) -> errors.Refusal:
    """The database's own message; it does not contain our address or password."""
    return errors.Invalid(
        f"'{name}' refused the query: {message} ({code})",
        hint="Correct the query; action=schema lists tables and columns.",
    )
