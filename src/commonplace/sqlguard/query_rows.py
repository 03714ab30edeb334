"""What every engine needs to run a query: the target, rows that are bounded while they are read, and refusals.

`BlockingQuery` runs a query of a driver that blocks in a thread, so that it can be cancelled.
"""

import asyncio
import datetime as dt
import decimal
import importlib
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

from commonplace import errors

T = TypeVar("T")

CONNECT_SECONDS = 5
MAX_CELL_CHARACTERS = 65_536
MAX_RESULT_BYTES = 1_000_000
_SHORT_CELL_BYTES = 4
_MAX_EXACT_INTEGER = 2**53
_MAX_THREADS = 16


@dataclass(frozen=True, slots=True)
class QueryTarget:
    """Address, login and time limit of one database."""

    name: str
    dialect: str
    database: str
    host: str = ""
    port: int = 0
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    timeout_seconds: float = 30


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


def load_package(dialect: str, name: str) -> Any:
    """A parser or driver of an extra; the first query imports it."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as missing:
        raise errors.Unavailable(
            f"Queries to {dialect} need the package {missing.name}, which is not installed.",
            hint=f"Install commonplace-mcp[{dialect}]; in a clone, run `make setup EXTRAS={dialect}`.",
        ) from None


def query_too_large(what: str) -> errors.TooLarge:
    return errors.TooLarge(what, hint="Narrow it with WHERE, or read fewer rows.")


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


def query_forbidden(name: str, code: object) -> errors.Forbidden:
    return errors.Forbidden(
        f"'{name}' refused the query. ({code})", hint="Send a query that only reads what this login may read."
    )


@cache
def _thread_pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_MAX_THREADS, "database")


async def run_cancellable(work: Callable[[], T], stop: Callable[[], None]) -> T:
    """Run `work` in a thread; if the caller is cancelled, `stop` makes the database end the query."""
    loop = asyncio.get_running_loop()
    running = loop.run_in_executor(_thread_pool(), work)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        running.add_done_callback(_discard_outcome)
        await asyncio.shield(loop.run_in_executor(_thread_pool(), stop))
        raise


def _discard_outcome(running: "asyncio.Future[T]") -> None:
    """Retrieve the exception of a cancelled query, so that the event loop does not log a warning."""
    if not running.cancelled():
        running.exception()


class BlockingQuery:
    """One query with a DB-API driver, on a connection of its own. A dialect says how to connect, set up and cancel."""

    def __init__(self, target: QueryTarget, driver: Any) -> None:
        self.target = target
        self.driver = driver

    def connect(self) -> Any:
        raise NotImplementedError

    def open_cursor(self, connection: Any, checked: Any) -> Any:
        """Make the connection read-only; return a cursor that streams."""
        raise NotImplementedError

    def disconnect(self, connection: Any) -> None:
        """End everything that still streams and everything that the session holds."""
        raise NotImplementedError

    def cancel(self) -> None:
        raise NotImplementedError

    def build_refusal(self, error: Any) -> Exception:
        raise NotImplementedError

    async def run(self, checked: Any, max_rows: int, parameters: Sequence[Any] = ()) -> QueryRows:
        return await run_cancellable(lambda: self._read(checked, max_rows, parameters), self.cancel)

    def _read(self, checked: Any, max_rows: int, parameters: Sequence[Any]) -> QueryRows:
        try:
            connection = self.connect()
        except (self.driver.Error, OSError):
            raise database_unreachable(self.target.name) from None
        try:
            cursor = self.open_cursor(connection, checked)
            cursor.execute(checked.sql, tuple(parameters) or None)
            rows = QueryRows(max_rows, [column[0] or "" for column in cursor.description or ()])
            while (values := cursor.fetchone()) is not None and rows.add_row(values):
                pass
        except TimeoutError:
            raise
        except self.driver.Error as error:
            raise self.build_refusal(error) from None
        except OSError:
            raise database_unreachable(self.target.name) from None
        else:
            return rows
        finally:
            self.disconnect(connection)
