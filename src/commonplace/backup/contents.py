"""What a backup says about itself: `backup.json` comes first, `manifest.json` last.

A file without its manifest is incomplete. The digest of a table is the SHA-256 of its lines, which are the same on both
stores, so that two backups can be compared without a store.
"""

from pathlib import PurePosixPath
from typing import Final

import msgspec

from commonplace import errors
from commonplace.store.database import Kind
from commonplace.store.snapshot import ColumnType, StoredColumn, StoredTable

FORMAT: Final = "commonplace-backup"
FORMAT_VERSION: Final = 1
HEADER_NAME: Final = "backup.json"
MANIFEST_NAME: Final = "manifest.json"
TABLE_FOLDER: Final = "tables"
BODY_FOLDER: Final = "archives"
INDEX_TABLES: Final = frozenset({"entry", "embedding", "embedding_queue"})
"""The search index: numbered, and its vectors stored, in each store's own way. All else is equal on both stores."""


class ColumnHeader(msgspec.Struct, frozen=True):
    name: str
    type: ColumnType
    key: int = 0


class BackupHeader(msgspec.Struct, frozen=True, kw_only=True):
    """The first member: enough to create the tables before their rows are read."""

    format: str = FORMAT
    format_version: int = FORMAT_VERSION
    commonplace: str
    schema: int
    store: Kind
    created_at: str
    tables: dict[str, list[ColumnHeader]]

    def list_tables(self) -> list[StoredTable]:
        return [
            StoredTable(name, tuple(StoredColumn(each.name, each.type, each.key) for each in columns))
            for name, columns in self.tables.items()
        ]


class TableDigest(msgspec.Struct, frozen=True):
    rows: int
    bytes: int
    sha256: str


class BackupManifest(msgspec.Struct, frozen=True, kw_only=True):
    """The last member: what the file must contain."""

    tables: dict[str, TableDigest]
    archive_bodies: int = 0
    archive_bytes: int = 0
    missing_bodies: list[str] = []
    finished_at: str

    @property
    def rows(self) -> int:
        return sum(table.rows for table in self.tables.values())


def list_column_headers(table: StoredTable) -> list[ColumnHeader]:
    return [ColumnHeader(column.name, column.type, column.key_position) for column in table.columns]


def decode_header(body: bytes) -> BackupHeader:
    try:
        header = msgspec.json.decode(body, type=BackupHeader)
    except msgspec.MsgspecError as wrong:
        raise damaged_backup(f"{HEADER_NAME}: {wrong}") from None
    if header.format != FORMAT or header.format_version > FORMAT_VERSION:
        raise errors.Invalid(
            f"This backup has format {header.format} {header.format_version};"
            f" this version of Commonplace reads {FORMAT} up to {FORMAT_VERSION}.",
            hint="Upgrade Commonplace, then restore it.",
        )
    for name, columns in header.tables.items():
        for word in (name, *(column.name for column in columns)):
            if not (word.isascii() and word.isidentifier()):
                raise damaged_backup(f"{HEADER_NAME} names a table or column {word!r}")
    return header


def decode_manifest(body: bytes) -> BackupManifest:
    try:
        return msgspec.json.decode(body, type=BackupManifest)
    except msgspec.MsgspecError as wrong:
        raise damaged_backup(f"{MANIFEST_NAME}: {wrong}") from None


def name_table_part(table: str, number: int) -> str:
    return f"{TABLE_FOLDER}/{table}-{number:05}.jsonl"


def parse_table_name(member: str) -> str | None:
    """The table of a member with rows; None for other members."""
    folder, _, rest = member.partition("/")
    return rest.rpartition("-")[0] if folder == TABLE_FOLDER else None


def parse_body_address(member: str) -> str | None:
    """The address of an archive body; None for other members. Raises Damaged if it leaves its folder."""
    folder, _, address = member.partition("/")
    if folder != BODY_FOLDER:
        return None
    path = PurePosixPath(address)
    if path.is_absolute() or ".." in path.parts or "\\" in address or not address:
        raise damaged_backup(f"an archive has the address {address!r}")
    return address


def damaged_backup(reason: str) -> errors.Invalid:
    return errors.Invalid(
        f"The backup is damaged or incomplete: {reason}.",
        hint="Use another backup. Nothing was changed.",
    )
