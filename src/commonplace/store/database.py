"""The interface of a store. A transaction function awaits nothing but its `tx`, because on SQLite it runs in a thread."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeVar

Row = Mapping[str, Any]
Value = int | float | str | bytes | None | Sequence[str] | Sequence[int]
T = TypeVar("T")

Kind = Literal["sqlite", "postgresql"]


class Tx(Protocol):
    """One transaction. SQL has `$n` parameters and is the same text for both stores."""

    kind: Kind

    async def run(self, sql: str, *values: Value) -> int:
        """Run a statement; return the number of changed rows."""

    async def one(self, sql: str, *values: Value) -> Row | None:
        """Return the first row, or None."""

    async def all(self, sql: str, *values: Value) -> Sequence[Row]:
        """Return all rows."""

    async def many(self, sql: str, rows: Sequence[Sequence[Value]]) -> None:
        """Run one statement for each row of values."""

    async def clock(self) -> int:
        """The store's own time: on PostgreSQL the primary's, so that replicas agree about leases."""


Work = Callable[[Tx], Awaitable[T]]


class Database(Protocol):
    kind: Kind

    async def read(self, work: Work[T], operation: str = "") -> T:
        """Run a transaction that changes nothing.

        A short read can name its operation: SQLite then runs it on the event loop, and remembers which are long.
        """

    async def write(self, work: Work[T]) -> T:
        """Run a transaction; it is durable when this returns."""

    def announce(self, projects: set[str]) -> None:
        """Hint to the other replicas that these projects have new events."""

    async def listen(self, heard: Callable[[set[str] | None], None]) -> None:
        """Call `heard` with the projects that other replicas announced; with None if some may have been missed."""

    async def stop_listening(self) -> None:
        """Stop calling `heard` and stop announcing."""

    async def close(self) -> None:
        """Finish accepted transactions, then close."""
