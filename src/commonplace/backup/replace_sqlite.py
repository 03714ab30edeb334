"""Put a restored SQLite store in the place of the one in a data folder; the old file stays beside it.

The new file is built and compared beside the old one, then takes its name in one rename. A process that is killed at any
moment leaves the old database or the new one.
"""

import contextlib
import os
import shutil
from pathlib import Path

import apsw

from commonplace.backup.container import flush_folder
from commonplace.backup.restore import Restoration
from commonplace.data_folder import DATABASE, lock_data_folder, make_private, mark_created
from commonplace.rooms.locks.store import FIRST_EPOCH
from commonplace.store.snapshot import Snapshot
from commonplace.store.sqlite import Sqlite
from commonplace.store.sqlite_snapshot import SqliteSnapshot

_STAGING_PREFIX = "commonplace.restoring-"
_LOG_SUFFIXES = ("-wal", "-shm")


async def replace_sqlite(restoration: Restoration, folder: Path) -> Path | None:
    """Restore into the data folder; returns where the old database is now, if there was one."""
    with contextlib.closing(lock_data_folder(folder)):
        _delete_leftovers(folder)
        staging = folder / f"{_STAGING_PREFIX}{restoration.stamp}"
        try:
            await _build_database(restoration, staging, _read_epoch(folder / DATABASE))
            kept = _swap_files(folder, staging / DATABASE, restoration.stamp)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
        make_private(folder)
        return kept


def _delete_leftovers(folder: Path) -> None:
    """Of restores that were killed; the folder is locked, so none runs."""
    for leftover in folder.glob(f"{_STAGING_PREFIX}*"):
        shutil.rmtree(leftover, ignore_errors=True)


async def _build_database(restoration: Restoration, staging: Path, epoch: int) -> None:
    async def open_snapshot() -> Snapshot:
        return SqliteSnapshot(staging / DATABASE)

    database = Sqlite(staging, restoration.clock)
    try:
        await restoration.fill(database, open_snapshot, epoch)
    finally:
        await database.close()
    _merge_log(staging / DATABASE)


def _read_epoch(file: Path) -> int:
    """The token epoch of the database that is replaced, if it can be read."""
    with contextlib.suppress(apsw.Error, ValueError):
        if file.exists():
            with contextlib.closing(
                apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READWRITE)
            ) as connection:
                value = connection.execute("select value from setting where name = 'epoch'").get
                return int(value or FIRST_EPOCH)
    return FIRST_EPOCH


def _merge_log(file: Path) -> None:
    """Move the write-ahead log into the database, so that one file has everything."""
    with contextlib.closing(apsw.Connection(str(file))) as connection:
        connection.execute("pragma wal_checkpoint(truncate)").fetchall()


def _swap_files(folder: Path, restored: Path, stamp: str) -> Path | None:
    target, kept = folder / DATABASE, folder / f"{DATABASE}.before-{stamp}"
    existed = target.exists()
    if existed:
        _put_aside(target, kept)
    with restored.open("rb") as file:
        os.fsync(file.fileno())
    restored.replace(target)
    mark_created(folder)
    flush_folder(folder)
    return kept if existed else None


def _put_aside(target: Path, kept: Path) -> None:
    """Give the old database a second name. Its log must not be applied to the new file."""
    with contextlib.suppress(apsw.Error):
        _merge_log(target)
    if not any(_has_bytes(target.with_name(target.name + suffix)) for suffix in _LOG_SUFFIXES[:1]):
        _link_or_copy(target, kept)
    else:  # too damaged to merge: the log goes along, and for a moment there is no database
        target.rename(kept)
    for suffix in _LOG_SUFFIXES:
        log = target.with_name(target.name + suffix)
        if log.exists():
            log.rename(kept.with_name(kept.name + suffix))


def _has_bytes(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def _link_or_copy(target: Path, kept: Path) -> None:
    try:
        os.link(target, kept)
    except OSError:  # a file system without hard links
        shutil.copy2(target, kept)
