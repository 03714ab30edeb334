"""A reply is sent after its commit is on disk: both stores are opened with the settings that wait for it."""

from commonplace.store.database import Database, Tx

_SQLITE_FULL = 2


async def test_commits_wait_for_the_disk(database: Database):
    async def read_setting(tx: Tx) -> list[object]:
        if tx.kind == "postgresql":
            return [(await tx.one("select current_setting('synchronous_commit') as value"))["value"]]
        synchronous, journal = await tx.one("pragma synchronous"), await tx.one("pragma journal_mode")
        return [synchronous["synchronous"], journal["journal_mode"]]

    assert await database.write(read_setting) in (["on"], [_SQLITE_FULL, "wal"])
