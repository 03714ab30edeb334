"""Migrations: many servers at once, and databases that are not ours to touch."""

import asyncio
from pathlib import Path

import pytest

from commonplace import errors
from commonplace.store.database import Database, Tx
from commonplace.store.migrate import list_migrations, migrate
from commonplace.store.postgres import Postgres
from commonplace.store.sqlite import Sqlite
from team import HandClock, create_database


async def test_ten_servers_start_at_once_and_one_migrates(postgres_server: str):
    async with create_database(postgres_server) as dsn:
        servers = [await Postgres.open(dsn, pool=1) for _ in range(10)]
        try:
            applied = await asyncio.gather(*(migrate(server) for server in servers))
        finally:
            await asyncio.gather(*(server.close() for server in servers))
    assert sorted(applied) == [0] * 9 + [len(list_migrations("postgresql"))]


async def test_migrating_again_changes_nothing(database: Database):
    assert await migrate(database) == 0


async def test_newer_schema_is_refused_in_words(database: Database):
    async def from_the_future(tx: Tx) -> None:
        await tx.run("insert into schema_version (n, name, checksum) values ($1, $2, $3)", 9999, "later", "x")

    await database.write(from_the_future)
    with pytest.raises(errors.Unavailable, match="9999"):
        await migrate(database)


async def test_changed_migration_is_refused(database: Database):
    async def tamper(tx: Tx) -> None:
        await tx.run("update schema_version set checksum = $1 where n = $2", "other", 1)

    await database.write(tamper)
    with pytest.raises(errors.Unavailable):
        await migrate(database)


def test_file_that_is_no_database_is_refused_with_the_way_back(tmp_path: Path, clock: HandClock):
    (tmp_path / "commonplace.db").write_text("this is a text file, not a database\n" * 100)
    with pytest.raises(errors.Unavailable, match=r"commonplace\.db") as refused:
        Sqlite(tmp_path, clock)
    assert "Restore" in (refused.value.hint or "")
    assert (tmp_path / "commonplace.db").read_text().startswith("this is a text file")


async def test_folder_is_free_again_after_close(tmp_path: Path, clock: HandClock):
    first = Sqlite(tmp_path, clock)
    with pytest.raises(errors.Unavailable):
        Sqlite(tmp_path, clock)
    await first.close()
    await Sqlite(tmp_path, clock).close()
