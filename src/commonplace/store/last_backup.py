"""When the last backup was made, for `doctor` and monitoring: in the data folder, or in the PostgreSQL database.

A backup runs beside the server, which alone writes to SQLite, so there it is a file.
"""

import contextlib
import os
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from commonplace.store.database import Tx

_FILE_NAME = "commonplace.backup.json"
_SETTING = "last_backup"


class LastBackup(msgspec.Struct, frozen=True):
    file: str
    bytes: int
    verified: bool
    at: str

    @property
    def finished_at(self) -> datetime:
        return datetime.fromisoformat(self.at)


def describe_backup(file: Path, *, verified: bool) -> LastBackup:
    at = datetime.now(UTC).isoformat(timespec="seconds")
    return LastBackup(str(file.absolute()), file.stat().st_size, verified, at)


async def write_last_backup(store: str, folder: Path, backup: LastBackup) -> None:
    body = msgspec.json.encode(backup)
    if store == "sqlite":
        partial = folder / f"{_FILE_NAME}.part"
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(body)
        partial.replace(folder / _FILE_NAME)
        return
    from commonplace.store.postgres_snapshot import connect_without_limits  # noqa: PLC0415 - SQLite needs no driver

    connection = await connect_without_limits(store)
    try:
        await connection.execute(
            "insert into setting (name, value) values ($1, $2)"
            " on conflict (name) do update set value = excluded.value",
            _SETTING,
            body.decode(),
        )
    finally:
        await connection.close(timeout=10)


async def read_last_backup(tx: Tx, folder: Path) -> LastBackup | None:
    """None if there was none, or if what is written about it cannot be read."""
    with contextlib.suppress(OSError, msgspec.MsgspecError):
        if tx.kind == "sqlite":
            return msgspec.json.decode((folder / _FILE_NAME).read_bytes(), type=LastBackup)
        row = await tx.one("select value from setting where name = $1", _SETTING)
        return msgspec.json.decode(row["value"], type=LastBackup) if row else None
    return None
