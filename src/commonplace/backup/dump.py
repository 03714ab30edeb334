"""Write every row of a snapshot, and the archive bodies outside of the store, as the members of a backup."""

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from commonplace import __version__, errors
from commonplace.backup.container import MemberWriter
from commonplace.backup.contents import (
    BODY_FOLDER,
    HEADER_NAME,
    MANIFEST_NAME,
    BackupHeader,
    BackupManifest,
    TableDigest,
    list_column_headers,
    name_table_part,
    parse_body_address,
)
from commonplace.store.migrate import newest_schema
from commonplace.store.snapshot import Snapshot, StoredTable
from commonplace.transcripts.archive.frame_storage import FrameStorage

Report = Callable[[str], None]
FRAME_TABLE = "archive_frame"
_PART_BYTES = 4_000_000


async def write_backup(
    snapshot: Snapshot,
    writer: MemberWriter,
    storage: FrameStorage | None,
    report: Report,
    *,
    copies_bodies: bool = True,
) -> BackupManifest:
    """Write all members. `storage` has the archive bodies outside of the store; they are copied, or only named."""
    schema = await snapshot.schema_version()
    if not schema:
        raise errors.NotFound(
            "This database has no tables of Commonplace.",
            hint="Check --data and --store; start a server once.",
        )
    newest = newest_schema()
    if schema > newest:
        raise errors.Invalid(
            f"This database has schema {schema}; this version of Commonplace knows {newest}.",
            hint="Back it up with the version of Commonplace that its server has.",
        )
    tables = await snapshot.tables()
    header = BackupHeader(
        commonplace=__version__,
        schema=schema,
        store=snapshot.kind,
        created_at=_format_now(),
        tables={table.name: list_column_headers(table) for table in tables},
    )
    writer.add_member(HEADER_NAME, msgspec.json.format(msgspec.json.encode(header)))
    bodies = _BodyCopies(writer, storage, copies_bodies=copies_bodies)
    digests = {}
    for table in tables:
        digests[table.name] = await _write_table(snapshot, table, writer, bodies, report)
    manifest = BackupManifest(
        tables=digests,
        archive_bodies=bodies.count,
        archive_bytes=bodies.bytes,
        missing_bodies=bodies.missing,
        finished_at=_format_now(),
    )
    writer.add_member(MANIFEST_NAME, msgspec.json.format(msgspec.json.encode(manifest)))
    writer.close()
    return manifest


async def digest_tables(snapshot: Snapshot) -> dict[str, TableDigest]:
    """What the manifest of a backup of this snapshot would say."""
    return {
        table.name: await _write_table(snapshot, table, _NoWriter(), None, lambda _: None)
        for table in await snapshot.tables()
    }


class TableEncoder:
    """Rows as lines of JSON objects, with their digest."""

    def __init__(self, table: StoredTable) -> None:
        self._names = [column.name for column in table.columns]
        self._digest, self._rows, self._bytes = hashlib.sha256(), 0, 0

    def encode_rows(self, rows: Sequence[Sequence[Any]]) -> bytes:
        encode = msgspec.json.encode
        body = b"".join(encode(dict(zip(self._names, row, strict=True))) + b"\n" for row in rows)
        self._digest.update(body)
        self._rows += len(rows)
        self._bytes += len(body)
        return body

    def result(self) -> TableDigest:
        return TableDigest(self._rows, self._bytes, self._digest.hexdigest())


async def _write_table(
    snapshot: Snapshot, table: StoredTable, writer: MemberWriter, bodies: "_BodyCopies | None", report: Report
) -> TableDigest:
    encoder, parts, waiting, size = TableEncoder(table), 0, [], 0
    address = _find_address_column(table)
    async for batch in snapshot.rows(table):
        if bodies and address is not None:
            await bodies.copy_bodies([row[address] for row in batch if row[address]])
        body = encoder.encode_rows(batch)
        waiting.append(body)
        size += len(body)
        if size >= _PART_BYTES:
            parts += 1
            writer.add_member(name_table_part(table.name, parts), b"".join(waiting))
            waiting, size = [], 0
            report(f"{table.name}: {encoder.result().rows} rows")
    if waiting:
        writer.add_member(name_table_part(table.name, parts + 1), b"".join(waiting))
    return encoder.result()


def _find_address_column(table: StoredTable) -> int | None:
    if table.name != FRAME_TABLE:
        return None
    return next(n for n, column in enumerate(table.columns) if column.name == "address")


class _BodyCopies:
    """Copies the archive bodies that rows name, before these rows."""

    def __init__(self, writer: MemberWriter, storage: FrameStorage | None, *, copies_bodies: bool) -> None:
        self._writer, self._storage, self._copies_bodies = writer, storage, copies_bodies
        self.count, self.bytes = 0, 0
        self.missing: list[str] = []

    async def copy_bodies(self, addresses: Sequence[str]) -> None:
        for address in addresses:
            body = await self._read_body(address)
            if body is None:
                self.missing.append(address)
                continue
            name = f"{BODY_FOLDER}/{address}"
            parse_body_address(name)
            self._writer.add_member(name, body)
            self.count += 1
            self.bytes += len(body)

    async def _read_body(self, address: str) -> bytes | None:
        if not self._copies_bodies:
            return None
        if self._storage is None:
            raise errors.Invalid(
                "Some archive bodies are stored outside of the database.",
                hint="Name their place with --archives, as for the server, or leave them out with --without-archives.",
            )
        try:
            return await asyncio.to_thread(self._storage.read_body, address)
        except FileNotFoundError:
            return None


class _NoWriter:
    def add_member(self, name: str, body: bytes) -> None:
        """Only the digest is wanted."""

    def close(self) -> None:
        """Nothing to close."""


def _format_now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
