"""The interface of a store. A transaction function awaits nothing but its `tx`, because on SQLite it runs in a thread."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

if TYPE_CHECKING:
    from commonplace.store.lease_clock import LeaseClock

Row = Mapping[str, Any]
Value = int | float | str | bytes | None | Sequence[str] | Sequence[int]
T = TypeVar("T")

Kind = Literal["sqlite", "postgresql"]

Statement = tuple[str, *tuple[Value, ...]]
"""A statement with its values."""


class Tx(Protocol):
    """One transaction. SQL has `$n` parameters and is the same text for both stores."""

    kind: Kind

    async def run(self, sql: str, *values: Value) -> int:
        """Run a statement; return the number of changed rows."""

    async def one(self, sql: str, *values: Value) -> Row | None:
        """Return the first row, or None."""

    async def all(self, sql: str, *values: Value) -> Sequence[Row]:
        """Return all rows."""

    async def together(self, *statements: Statement) -> list[Sequence[Row]]:
        """Return all rows of each of these reads; on PostgreSQL in one round trip. No column holds bytes."""

    async def queue(self, sql: str, *values: Value) -> None:
        """Change rows without an answer: PostgreSQL gets it with the next statement that has one, or with COMMIT."""

    async def many(self, sql: str, rows: Sequence[Sequence[Value]]) -> None:
        """Queue one statement for each row of values."""

    async def expect_no_row(self, sql: str, *values: Value) -> None:
        """Roll back and run the work again if this finds a row after what was queued before it.

        For a check that was made without a lock. On SQLite nobody else writes meanwhile, so nothing is asked.
        """

    def claim_project(self, project: str) -> None:
        """Say whose transaction this is, before it locks anything: one project may not use all connections."""

    async def clock(self) -> int:
        """The time of leases (`lease_clock.py`), on which all replicas agree; to show one, add what is left to now."""

    def clock_statement(self) -> Statement:
        """Reads the clock together with something else; `clock_from_row` makes the time from its row."""

    def ask_clock(self) -> str:
        """Columns by which another statement reads the clock; empty if that takes a statement of its own."""

    def clock_from_row(self, row: Row) -> int:
        """The time that `clock_statement`, or the columns of `ask_clock`, read."""


Work = Callable[[Tx], Awaitable[T]]


class Database(Protocol):
    kind: Kind
    lease_clock: "LeaseClock | None"
    """Of a server; without one the store's own clock is the time of leases."""

    async def read(self, work: Work[T]) -> T:
        """Run a transaction that changes nothing."""

    async def write(self, work: Work[T]) -> T:
        """Run a transaction; it is durable when this returns."""

    async def check_pages(self, *, only_if_quick: bool = False) -> None:
        """Raise Damaged if a page of the database file is; PostgreSQL checks its own pages."""

    async def check_writable(self) -> None:
        """Raise `Unavailable` if a write would fail now."""

    async def list_silent_nodes(self) -> list[str]:
        """The nodes of a distributed store that do not answer, while the others serve their projects."""

    def announce(self, projects: set[str]) -> None:
        """Hint to the other replicas that these projects have new events."""

    async def listen(self, heard: Callable[[set[str] | None], None]) -> None:
        """Call `heard` with the projects that other replicas announced; with None if some may have been missed."""

    async def stop_listening(self) -> None:
        """Stop calling `heard` and stop announcing."""

    def measure_load(self) -> dict[str, int]:
        """How busy the store is, by name, without waiting for it: for /metrics."""

    async def close(self) -> None:
        """Finish accepted transactions, then close."""
