"""A consistent view of every stored row, for backups and exports; it never blocks the server that writes.

`sqlite_snapshot.py` and `postgres_snapshot.py` open one. The tables and their columns come from the schema itself, so
that a new table is part of the next backup. Rows are read in the order of their keys, compared by bytes, which is the
same order on both stores.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from commonplace.store.database import Kind

ColumnType = Literal["int", "text", "real", "blob", "vector"]
LEDGER = "schema_version"
COUNTER_TABLE = "counter"
REBUILT_COUNTERS = ("entry", "embedding")
"""Counters of the search index: each store numbers in its own way, so a restore computes them."""


@dataclass(frozen=True, slots=True)
class StoredColumn:
    name: str
    type: ColumnType
    key_position: int
    """From 1 on in the primary key; 0 outside of it."""


@dataclass(frozen=True, slots=True)
class StoredTable:
    name: str
    columns: tuple[StoredColumn, ...]

    @property
    def key(self) -> tuple[StoredColumn, ...]:
        return tuple(
            sorted((each for each in self.columns if each.key_position), key=lambda each: each.key_position)
        )


class Snapshot(Protocol):
    """Every method sees the state of one moment."""

    kind: Kind

    async def schema_version(self) -> int:
        """The number of the newest migration; 0 in a database that is not ours."""

    async def tables(self) -> list[StoredTable]:
        """The tables of the product by name, without the ledger of migrations and tables of others."""

    def rows(self, table: StoredTable) -> AsyncIterator[Sequence[Sequence[Any]]]:
        """All rows in batches, with the values of `table.columns`."""

    async def count(self, table: str) -> int:
        """The number of rows."""

    async def close(self) -> None:
        """Forget the view."""


def build_select(table: StoredTable, expressions: Sequence[str], order: Sequence[str]) -> str:
    """Read all rows of a table but for the counters that a restore computes."""
    excluded = ", ".join(f"'{name}'" for name in REBUILT_COUNTERS)
    where = f" where name not in ({excluded})" if table.name == COUNTER_TABLE else ""
    return f'select {", ".join(expressions)} from "{table.name}"{where} order by {", ".join(order)}'


def quote_name(name: str) -> str:
    return f'"{name}"'
