"""A reply is sent after its commit is on disk: both stores are opened with the settings that wait for it."""

import shutil
from pathlib import Path

import apsw

from commonplace.store.database import Database, Tx
from commonplace.store.sqlite import Sqlite
from team import HandClock

_SQLITE_FULL = 2
_DEFAULT_VFS = apsw.vfs_names()[0]


async def test_commits_wait_for_the_disk(database: Database):
    async def read_setting(tx: Tx) -> list[object]:
        if tx.kind == "postgresql":
            return [(await tx.one("select current_setting('synchronous_commit') as value"))["value"]]
        synchronous, journal = await tx.one("pragma synchronous"), await tx.one("pragma journal_mode")
        return [synchronous["synchronous"], journal["journal_mode"]]

    assert await database.write(read_setting) in (["on"], [_SQLITE_FULL, "wal"])


class SyncNotingVfs(apsw.VFS):
    """Notes which logs are synced while it is the default."""

    def __init__(self) -> None:
        super().__init__("notes-syncs", _DEFAULT_VFS, makedefault=True)
        self.synced_logs: set[str] = set()

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - SQLite's name
        return SyncNotingFile(self, name, flags)


class SyncNotingFile(apsw.VFSFile):
    def __init__(self, vfs: SyncNotingVfs, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        super().__init__(_DEFAULT_VFS, name, flags)
        self._vfs = vfs
        self._log = str(name) if flags[0] & apsw.SQLITE_OPEN_WAL else ""

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's name
        super().xSync(flags)
        self._vfs.synced_logs.add(self._log)


async def test_what_a_killed_server_left_in_the_log_is_on_disk_before_it_is_read(tmp_path: Path):
    """A process that dies between writing the log and syncing it leaves commits that the next one shows."""
    before = Sqlite(tmp_path / "before", HandClock())
    await before.write(lambda tx: tx.run("create table item (name text)"))
    await before.write(lambda tx: tx.run("insert into item values ('left')"))
    shutil.copytree(tmp_path / "before", tmp_path / "after")
    vfs = SyncNotingVfs()
    try:
        after = Sqlite(tmp_path / "after", HandClock())
        assert f"{after.folder.database}-wal" in vfs.synced_logs
        assert await after.read(lambda tx: tx.one("select name from item")) == {"name": "left"}
        await after.close()
    finally:
        vfs.unregister()
        await before.close()
