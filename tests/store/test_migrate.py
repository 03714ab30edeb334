"""Migrations: many servers at once, and databases that are not ours to touch."""

import asyncio
from pathlib import Path

import pytest

from commonplace import errors
from commonplace.catalogue import CATALOGUE
from commonplace.config import Settings
from commonplace.search.engine import SearchEngine
from commonplace.store import migrate as migrate_module
from commonplace.store.database import Database, Kind, Tx
from commonplace.store.migrate import Migration, list_migrations, migrate
from commonplace.store.postgres import Postgres
from commonplace.store.postgres_connection import PostgresTimeouts
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


async def test_a_migration_may_take_longer_than_any_call(
    postgres_server: str, monkeypatch: pytest.MonkeyPatch
):
    slow = Migration(9999, "slow", "select pg_sleep(1.5);\ncreate table slow (project text primary key);\n")
    known = [*list_migrations("postgresql"), slow]
    monkeypatch.setattr(migrate_module, "list_migrations", lambda _kind: known)
    limits = PostgresTimeouts(command_seconds=1, lock_seconds=1, idle_seconds=1, transaction_seconds=1)
    async with create_database(postgres_server) as dsn:
        store = await Postgres.open(dsn, pool=1, timeouts=limits)
        try:
            assert await migrate(store) == len(known)
        finally:
            await store.close()


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
    with pytest.raises(errors.Damaged, match=r"commonplace\.db") as refused:
        Sqlite(tmp_path, clock)
    assert "restore" in (refused.value.hint or "")
    assert (tmp_path / "commonplace.db").read_text().startswith("this is a text file")


async def test_folder_is_free_again_after_close(tmp_path: Path, clock: HandClock):
    first = Sqlite(tmp_path, clock)
    with pytest.raises(errors.Unavailable):
        Sqlite(tmp_path, clock)
    await first.close()
    await Sqlite(tmp_path, clock).close()


async def open_former_store(kind: str, tmp_path: Path, clock: HandClock, dsn: str) -> Database:
    return Sqlite(tmp_path, clock) if kind == "sqlite" else await Postgres.open(dsn, pool=1)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
async def test_rows_from_before_the_one_search_get_ids_and_are_indexed(
    kind: Kind, tmp_path: Path, clock: HandClock, postgres_server: str, monkeypatch: pytest.MonkeyPatch
):
    all_migrations = list_migrations(kind)
    first = next(migration.n for migration in all_migrations if migration.name == "one_search")
    async with create_database(postgres_server) as dsn:
        store = await open_former_store(kind, tmp_path, clock, dsn)
        try:
            with monkeypatch.context() as former:
                former.setattr(
                    "commonplace.store.migrate.list_migrations",
                    lambda _kind: [migration for migration in all_migrations if migration.n < first],
                )
                await migrate(store)
            await store.write(insert_former_rows)
            await migrate(store, is_confirmed=True)
            search = SearchEngine(store, Settings(embeddings="off"), clock, CATALOGUE.search_sources)
            await search.run_requested_refreshes()
            await search.close()
            rows = await store.read(
                lambda tx: tx.all("select kind, id, title from entry where project = 'shop'")
            )
        finally:
            await store.close()
    assert sorted((row["kind"], row["id"].partition("_")[0], row["title"]) for row in rows) == [
        ("checklist", "checklist", "release"),
        ("guideline", "guideline", "money"),
        ("guideline", "guideline", "names"),
    ]
    assert len({row["id"] for row in rows}) == len(rows)


async def insert_former_rows(tx: Tx) -> None:
    for name in ("money", "names"):
        await tx.run(
            "insert into guideline (project, name, rule, priority, updated_at, updated_by)"
            " values ('shop', $1, 'Mind the walrus.', 50, 1, 'ann')",
            name,
        )
    await tx.run(
        "insert into checklist (project, name, created_by, created_at, updated_at)"
        " values ('shop', 'release', 'ann', 1, 1)"
    )
