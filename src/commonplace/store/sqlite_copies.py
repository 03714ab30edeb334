"""Copies of the SQLite database, made beside it before a migration changes data.

To go back: stop the server, rename the copy to `commonplace.db`, delete `commonplace.db-wal`, and start the former version.
"""

import logging
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import apsw

from commonplace import errors
from commonplace.data_folder import DATABASE
from commonplace.store.sqlite_errors import sqlite_refusal

_log = logging.getLogger(__name__)

KEPT_COPIES: Final = 2
_MARK: Final = ".before-schema-"
_SPARE_BYTES: Final = 64_000_000


def copy_before_migration(folder: Path, schema: int) -> Path:
    """Copy the database to `commonplace.db.before-schema-N-TIME`; the newest copies stay, older ones are deleted."""
    database = folder / DATABASE
    _require_space(folder, database)
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    copy = folder / f"{DATABASE}{_MARK}{schema}-{stamp}"
    unfinished = copy.with_name(f"{DATABASE}.unfinished-copy")
    unfinished.unlink(missing_ok=True)
    try:
        _write_copy(database, unfinished)
    except apsw.Error as failure:
        unfinished.unlink(missing_ok=True)
        raise sqlite_refusal(failure, database) or failure from failure
    unfinished.rename(copy)
    _log.info("the database was copied before a migration changes data", extra={"copy": str(copy)})
    for old in list_copies(folder)[:-KEPT_COPIES]:
        old.unlink()
        _log.info("an older copy of the database was deleted", extra={"copy": str(old)})
    return copy


def list_copies(folder: Path) -> list[Path]:
    """The copies in this folder, the oldest first."""
    return sorted(folder.glob(f"{DATABASE}{_MARK}*"), key=lambda path: path.name.rpartition("-")[2])


def _require_space(folder: Path, database: Path) -> None:
    """A copy, and as much again for what the migration rewrites."""
    log = database.with_name(f"{DATABASE}-wal")
    size = database.stat().st_size + (log.stat().st_size if log.exists() else 0)
    free = shutil.disk_usage(folder).free
    if free < 2 * size + _SPARE_BYTES:
        raise errors.Unavailable(
            f"A migration changes data. Its copy of {database} needs {(2 * size + _SPARE_BYTES) // 10**6} MB;"
            f" {free // 10**6} MB are free.",
            hint="Free disk space. Or back up to another disk (`commonplace backup FILE`), then run"
            " `commonplace admin migrate --yes --without-copy`.",
        )


def _write_copy(database: Path, copy: Path) -> None:
    copy.touch(mode=0o600)
    connection = apsw.Connection(str(database))
    try:
        connection.execute("vacuum into ?", (str(copy),))
    finally:
        connection.close()
    with copy.open("rb+") as file:
        os.fsync(file.fileno())
