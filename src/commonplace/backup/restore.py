"""Restore a backup into a new place: load, compare with the manifest, migrate, and raise the token epoch.

`replace_sqlite.py` and `replace_postgres.py` create the place and put it where the old data was.
"""

import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from commonplace import errors
from commonplace.backup.dump import digest_tables
from commonplace.backup.inspection import InspectedBackup, list_differences
from commonplace.backup.load import BackupLoader
from commonplace.clock import DAY, Clock
from commonplace.data_folder import DATABASE
from commonplace.rooms.locks.store import FIRST_EPOCH, raise_token_epoch
from commonplace.store.database import Database, Tx
from commonplace.store.migrate import apply_migration_files
from commonplace.store.snapshot import Snapshot
from commonplace.store.sqlite import Sqlite
from commonplace.store.sqlite_snapshot import SqliteSnapshot
from commonplace.transcripts.archive.frame_storage import IN_DATABASE, FrameStorage, open_frame_storage

Report = Callable[[str], None]
_EPOCH_START = 20_454 * DAY
"""2026-01-01. The epoch is at least the number of days since then: if one backup is restored twice, in places that do not
know each other, the second one on a later day gives higher tokens too."""


@dataclass(frozen=True, kw_only=True)
class Restoration:
    """What to restore and how; `stamp` names what is kept of the old data."""

    backup: InspectedBackup
    archives: str
    stamp: str
    clock: Clock
    report: Report
    keeps_leases: bool = False

    async def fill(
        self, database: Database, open_snapshot: Callable[[], Awaitable[Snapshot]], epoch: int
    ) -> None:
        """Load, compare, migrate, and raise the token epoch over `epoch`, that of the data which is replaced."""
        await fill_store(self.backup, database, self.archives, report=self.report)
        snapshot = await open_snapshot()
        try:
            await require_equal_rows(self.backup, snapshot, inlined=self.archives == IN_DATABASE)
        finally:
            await snapshot.close()
        await complete_restore(database, epoch, self.clock, keeps_leases=self.keeps_leases)


async def fill_store(
    backup: InspectedBackup,
    database: Database,
    archives: str,
    *,
    keeps_archive_rows: bool = False,
    report: Report,
) -> None:
    """Load the backup into an empty database; archive bodies go where the setting `archives` says.

    With `keeps_archive_rows` they stay outside of the rows that name them, in whatever place.
    """
    with tempfile.TemporaryDirectory(prefix="commonplace-bodies-") as scratch:
        is_inlined = archives == IN_DATABASE and not keeps_archive_rows
        loader = BackupLoader(backup, database, _open_bodies(archives, scratch), inlines_bodies=is_inlined)
        await loader.load(report)


def _open_bodies(archives: str, scratch: str) -> FrameStorage:
    storage = open_frame_storage(archives) or open_frame_storage(scratch)
    if storage is None:
        raise errors.Invalid("A folder is needed for archive bodies.")
    return storage


async def require_equal_rows(backup: InspectedBackup, snapshot: Snapshot, *, inlined: bool = False) -> None:
    """Compare what was restored with the manifest, row by row; raises Damaged where they differ.

    Bodies that moved into their rows change the table of frames, and only that.
    """
    different = list_differences(backup, await digest_tables(snapshot), snapshot.kind)
    if inlined and backup.manifest.archive_bodies:
        different = [name for name in different if name != "archive_frame"]
    if different:
        raise errors.Damaged(
            f"The rows of {', '.join(different)} are not those of the backup after they were restored.",
            hint="Nothing was replaced. Report this with the output of `commonplace --version`.",
        )


async def complete_restore(
    database: Database, replaced_epoch: int, clock: Clock, *, keeps_leases: bool = False
) -> int:
    """Migrate to this version's schema and raise the token epoch over every epoch that there may have been.

    The leases of a backup end, since another agent may have had their files after it. A move to another store keeps
    them: the servers were stopped.
    """
    await apply_migration_files(database)

    async def raise_epoch(tx: Tx) -> int:
        now = clock()
        stored = await load_token_epoch(tx)
        floor = max(stored, replaced_epoch, (now - _EPOCH_START) // DAY)
        await tx.run(
            "insert into setting (name, value) values ('epoch', $1)"
            " on conflict (name) do update set value = excluded.value",
            str(floor + 1 if keeps_leases else floor),
        )
        return floor + 1 if keeps_leases else await raise_token_epoch(tx, now)

    return await database.write(raise_epoch)


async def load_token_epoch(tx: Tx) -> int:
    row = await tx.one("select value from setting where name = 'epoch'")
    return int(row["value"]) if row else FIRST_EPOCH


async def verify_in_scratch(backup: InspectedBackup, clock: Clock, report: Report) -> None:
    """Restore into a scratch SQLite store, compare every row, check the file, migrate it, and throw it away."""
    with tempfile.TemporaryDirectory(prefix="commonplace-verify-") as scratch:
        folder = Path(scratch, "data")
        database = Sqlite(folder, clock)
        try:
            await fill_store(
                backup, database, str(Path(scratch, "archives")), keeps_archive_rows=True, report=report
            )
        finally:
            await database.close()
        snapshot = SqliteSnapshot(folder / DATABASE)
        try:
            await require_equal_rows(backup, snapshot)
            if found := await snapshot.check_integrity():
                raise errors.Damaged(f"The restored database fails its integrity check: {found[0]}.")
        finally:
            await snapshot.close()
        database = Sqlite(folder, clock)
        try:
            await apply_migration_files(database)
        finally:
            await database.close()
