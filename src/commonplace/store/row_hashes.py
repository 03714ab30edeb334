"""A hash beside each row that nobody would miss a byte of: documents, their versions, and archives.

It is written with the row and covers the columns that its `HashedTable` names. `commonplace doctor` and every backup
compare it with the row (`row_checks.py` and `backup/inspection.py`), so that a byte that changed on disk is found.
A row without a hash (null) is older than hashes, or was changed by a statement that did not know the rest of the row;
background batches hash it. A migration that changes a hashed column of existing rows sets `row_hash` to null.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from commonplace.store.database import Row, Tx, Value

ROW_HASH: Final = "row_hash"
_HASH_BYTES: Final = 8


@dataclass(frozen=True, slots=True)
class HashedTable:
    """A table with a column `row_hash`. `key` is its primary key after the project."""

    name: str
    key: tuple[str, ...]
    columns: tuple[str, ...]
    """What the hash covers, with the project and the key. The order is part of the hash."""
    number_keys: tuple[str, ...] = ()
    """The columns of the key that are numbers; the others are texts."""
    batch_rows: int = 200

    def compute_hash(self, row: Mapping[str, Any]) -> int:
        """The same for a row of either store, and for a line of a backup, where bytes are base64 text."""
        covered = msgspec.json.encode([row[column] for column in self.columns])
        digest = hashlib.blake2b(covered, digest_size=_HASH_BYTES, usedforsecurity=False)
        return int.from_bytes(digest.digest(), signed=True)

    def is_damaged(self, row: Mapping[str, Any]) -> bool:
        """Is this row another one than was written? A row without a hash is not."""
        stored = row[ROW_HASH]
        return stored is not None and self.compute_hash(row) != stored

    def hash_after(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> int | None:
        """The hash of a row that is changed. A damaged row keeps its old hash, so that the damage is still found."""
        stored: int | None = before[ROW_HASH]
        return stored if stored is None or self.is_damaged(before) else self.compute_hash(after)

    def describe_row(self, row: Mapping[str, Any]) -> str:
        return f"{self.name} {'/'.join(str(row[column]) for column in ('project', *self.key))}"


def set_hash_if_unchanged(former: int, hash_now: int) -> str:
    """Sets the hash if the row is still the one that was read, else null. The arguments are numbers of parameters.

    On PostgreSQL another transaction may have changed other columns since.
    """
    return f"{ROW_HASH} = case when {ROW_HASH} = ${former} then CAST(${hash_now} as bigint) end"


async def list_rows_after(
    tx: Tx, table: HashedTable, project: str, key: Sequence[Value], limit: int
) -> Sequence[Row]:
    """The next rows of a project in the order of their keys; an empty key is before all of them."""
    keys = ", ".join(table.key)
    places = ", ".join(f"${number}" for number in range(3, 3 + len(key)))
    after = f" and ({keys}) > ({places})" if key else ""
    return await tx.all(
        f"select {', '.join(table.columns)}, {ROW_HASH} from {table.name} where project = $1{after}"
        f" order by {keys} limit $2",
        project,
        limit,
        *key,
    )


async def find_projects_without_hashes(tx: Tx, table: HashedTable, projects: Sequence[str]) -> list[str]:
    """Some of these projects that have rows without a hash."""
    rows = await tx.all(
        f"select project from {table.name} where project = any($1) and {ROW_HASH} is null limit 1000",
        projects,
    )
    return sorted({row["project"] for row in rows})


async def hash_some_rows(tx: Tx, table: HashedTable, project: str) -> int:
    """Hash one batch of rows that have no hash; return how many. Nobody changes them meanwhile."""
    lock = " for update skip locked" if tx.kind == "postgresql" else ""
    rows = await tx.all(
        f"select {', '.join(table.columns)} from {table.name} where project = $1 and {ROW_HASH} is null limit $2{lock}",
        project,
        table.batch_rows,
    )
    where = " and ".join(f"{column} = ${number}" for number, column in enumerate(table.key, 3))
    await tx.many(
        f"update {table.name} set {ROW_HASH} = $2 where project = $1 and {where}",
        [(project, table.compute_hash(row), *(row[column] for column in table.key)) for row in rows],
    )
    return len(rows)
