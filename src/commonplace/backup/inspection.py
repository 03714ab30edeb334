"""Check a backup without a store: every member is there and has the digest that the manifest names.

Rows that were damaged in the store before they were backed up do not have the hash that was written with them; they are
listed, since the backup has everything else.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from commonplace.backup.container import read_members
from commonplace.backup.contents import (
    HEADER_NAME,
    INDEX_TABLES,
    MANIFEST_NAME,
    BackupHeader,
    BackupManifest,
    TableDigest,
    damaged_backup,
    decode_header,
    decode_manifest,
    parse_body_address,
    parse_table_name,
)
from commonplace.catalogue import CATALOGUE
from commonplace.store.database import Kind
from commonplace.store.row_hashes import ROW_HASH, HashedTable


@dataclass(frozen=True)
class InspectedBackup:
    path: Path
    header: BackupHeader
    manifest: BackupManifest
    damaged_rows: tuple[str, ...] = ()


class _Tally:
    def __init__(self) -> None:
        self.digest: Any = hashlib.sha256()
        self.rows, self.bytes = 0, 0

    def add_part(self, body: bytes) -> None:
        self.digest.update(body)
        self.rows += body.count(b"\n")
        self.bytes += len(body)

    def result(self) -> TableDigest:
        return TableDigest(self.rows, self.bytes, self.digest.hexdigest())


def inspect_backup(path: Path) -> InspectedBackup:
    """Read the whole file; raises Invalid if it is damaged or incomplete."""
    header: BackupHeader | None = None
    manifest: BackupManifest | None = None
    tallies: dict[str, _Tally] = {}
    bodies, damaged_rows = 0, []
    for name, body in read_members(path):
        if header is None:
            if name != HEADER_NAME:
                raise damaged_backup(f"it starts with {name}, not with {HEADER_NAME}")
            header = decode_header(body)
        elif name == MANIFEST_NAME:
            manifest = decode_manifest(body)
        elif table := parse_table_name(name):
            tallies.setdefault(table, _Tally()).add_part(body)
            damaged_rows.extend(_list_damaged_rows(header, table, body))
        elif parse_body_address(name):
            bodies += 1
    if header is None or manifest is None:
        raise damaged_backup("it has no end")
    _require_tables(header, manifest, tallies)
    if bodies < manifest.archive_bodies:
        raise damaged_backup(f"it has {bodies} of {manifest.archive_bodies} archive bodies")
    return InspectedBackup(path, header, manifest, tuple(damaged_rows))


def _list_damaged_rows(header: BackupHeader, name: str, body: bytes) -> list[str]:
    columns = {column.name for column in header.tables.get(name, ())}
    table = next((each for each in CATALOGUE.hashed_tables if each.name == name), None)
    if table is None or not {ROW_HASH, *table.columns} <= columns:
        return []  # older than hashes
    return [table.describe_row(row) for row in _decode_lines(table, body) if table.is_damaged(row)]


def _decode_lines(table: HashedTable, body: bytes) -> list[dict[str, Any]]:
    try:
        rows: list[dict[str, Any]] = msgspec.json.Decoder(dict[str, Any]).decode_lines(body)
    except msgspec.MsgspecError as wrong:
        raise damaged_backup(f"rows of {table.name}: {wrong}") from None
    return rows


def _require_tables(header: BackupHeader, manifest: BackupManifest, tallies: dict[str, _Tally]) -> None:
    if set(manifest.tables) != set(header.tables) or not set(tallies) <= set(header.tables):
        raise damaged_backup("its tables are not those that it lists")
    found = {name: tallies.get(name, _Tally()).result() for name in manifest.tables}
    if wrong := [name for name, digest in manifest.tables.items() if found[name] != digest]:
        raise damaged_backup(f"the rows of {', '.join(wrong)} are not those that were written")


def list_differences(
    backup: InspectedBackup, restored: dict[str, TableDigest], restored_to: Kind
) -> list[str]:
    """The tables whose rows differ between the backup and what was restored from it.

    The search index is compared only between stores of one kind; it is derived from the other rows.
    """
    is_same_kind = backup.header.store == restored_to
    compared = [name for name in backup.manifest.tables if is_same_kind or name not in INDEX_TABLES]
    return [name for name in compared if restored.get(name) != backup.manifest.tables[name]]
