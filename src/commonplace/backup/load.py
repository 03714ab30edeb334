"""Load the rows of an inspected backup into an empty, migrated store of either kind."""

import asyncio
import base64
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from commonplace import errors
from commonplace.backup.container import read_members
from commonplace.backup.contents import damaged_backup, parse_body_address, parse_table_name
from commonplace.backup.dump import FRAME_TABLE
from commonplace.backup.inspection import InspectedBackup
from commonplace.rooms.archives.hashed_rows import HASHED_FRAMES
from commonplace.search.stored_entries import EntryNumbers, finish_index, insert_stored_entries
from commonplace.store.database import Database, Tx
from commonplace.store.migrate import apply_migration_files, newest_schema
from commonplace.store.row_hashes import ROW_HASH
from commonplace.store.snapshot import StoredTable
from commonplace.transcripts.archive.frame_storage import FrameStorage

Report = Callable[[str], None]
ENTRY_TABLE: Final = "entry"
_VECTOR_TABLES: Final = frozenset({"embedding", "embedding_queue"})


class BackupLoader:
    """`bodies` receives the archive bodies. With `inlines_bodies` they then move into the rows that name them."""

    def __init__(
        self, backup: InspectedBackup, database: Database, bodies: FrameStorage, *, inlines_bodies: bool
    ) -> None:
        self._backup, self._database = backup, database
        self._bodies, self._inlines_bodies = bodies, inlines_bodies
        self._is_same_kind = backup.header.store == database.kind
        self._numbers = EntryNumbers(backup.header.store, database.kind)
        self._tables = {table.name: table for table in backup.header.list_tables()}

    async def load(self, report: Report) -> None:
        """Create the tables as they were when the backup was made, then load every row.

        Migrate afterwards: an older backup gets what newer migrations do to its rows.
        """
        await create_schema(self._database, self._backup.header.schema)
        await self._database.write(self._delete_initial_rows)
        current = ""
        for name, body in read_members(self._backup.path):
            if address := parse_body_address(name):
                await asyncio.to_thread(self._bodies.write_body, address, body)
            elif table := parse_table_name(name):
                if table != current:
                    current = table
                    report(f"{table}: {self._backup.manifest.tables[table].rows} rows")
                await self._load_part(self._tables[table], body)
        await self._database.write(lambda tx: finish_index(tx, has_vectors=self._is_same_kind))

    async def _delete_initial_rows(self, tx: Tx) -> None:
        """A backup has all rows, also those that migrations create."""
        for name in self._tables:
            await tx.run(f'delete from "{name}"')

    async def _load_part(self, table: StoredTable, body: bytes) -> None:
        if table.name in _VECTOR_TABLES and not self._is_same_kind:
            return
        rows = _decode_rows(table, body)
        if table.name == FRAME_TABLE and self._inlines_bodies:
            await asyncio.to_thread(self._inline_bodies, rows)
        if table.name == ENTRY_TABLE:
            for row in rows:
                self._numbers.renumber(row)
        await self._database.write(lambda tx: _insert_rows(tx, table, rows))

    def _inline_bodies(self, rows: Sequence[dict[str, Any]]) -> None:
        for row in rows:
            if row["address"]:
                before = dict(row)
                try:
                    row["body"] = self._bodies.read_body(row["address"])
                except FileNotFoundError:
                    continue
                row["address"] = ""
                if ROW_HASH in row:
                    row[ROW_HASH] = HASHED_FRAMES.hash_after(before, row)


async def create_schema(database: Database, schema: int) -> None:
    """Create the tables of this schema version in an empty database."""
    newest = newest_schema()
    if schema > newest:
        raise errors.Invalid(
            f"The backup has schema {schema}; this version of Commonplace knows {newest}.",
            hint="Upgrade Commonplace, then restore it.",
        )
    await apply_migration_files(database, last=schema)


def _decode_rows(table: StoredTable, body: bytes) -> list[dict[str, Any]]:
    try:
        rows: list[dict[str, Any]] = msgspec.json.Decoder(list[dict[str, Any]]).decode(
            b"[" + body.rstrip(b"\n").replace(b"\n", b",") + b"]"
        )
    except msgspec.MsgspecError as wrong:
        raise damaged_backup(f"rows of {table.name}: {wrong}") from None
    for column in table.columns:
        if column.type == "blob":
            for row in rows:
                row[column.name] = base64.b64decode(row[column.name])
    return rows


async def _insert_rows(tx: Tx, table: StoredTable, rows: Sequence[dict[str, Any]]) -> None:
    names = [column.name for column in table.columns]
    if table.name == ENTRY_TABLE:
        await insert_stored_entries(tx, names, rows)
        return
    places = ", ".join(
        f"cast(cast(${n} as text) as halfvec)" if column.type == "vector" else f"${n}"
        for n, column in enumerate(table.columns, 1)
    )
    listed = ", ".join(f'"{name}"' for name in names)
    await tx.many(
        f'insert into "{table.name}" ({listed}) values ({places})',
        [tuple(row[name] for name in names) for row in rows],
    )
