"""Migrations that change data: a copy or a confirmation comes first; indexes are built beside the work; any may be cut off."""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import apsw
import asyncpg
import pytest

from commonplace import errors
from commonplace.cli.migrate import render_plan
from commonplace.store import migrate as migrate_module
from commonplace.store import migration_kinds, sqlite_copies
from commonplace.store.database import Database, Kind, Tx
from commonplace.store.migrate import Migration, list_migrations, migrate, plan_migrations
from commonplace.store.postgres import Postgres
from commonplace.store.sqlite import Sqlite
from commonplace.store.sqlite_copies import list_copies
from team import HandClock, create_database

ADDITIVE = Migration(
    9001,
    "adds",
    "-- kind: additive\ncreate table later (project text primary key);\n\n"
    "-- a reason\ncreate index later_setting on setting (value);\n",
)
CHANGES = Migration(
    9002, "changes", "-- kind: data\nupdate setting set value = 'changed' where name = 'mine';\n"
)
BREAKS = Migration(
    9002,
    "changes",
    "-- kind: data\nupdate setting set value = 'half' where name = 'mine';\nselect no_such();\n",
)
_CHANGES_ROWS = re.compile(
    r"(update|delete|drop|truncate|alter table \w+ (drop|alter|rename))\b", re.IGNORECASE
)

Release = Callable[..., None]


@pytest.fixture
def release(monkeypatch: pytest.MonkeyPatch) -> Release:
    """A newer version, with further migrations."""

    def add(*later: Migration) -> None:
        monkeypatch.setattr(migrate_module, "list_migrations", lambda kind: [*list_migrations(kind), *later])

    return add


@pytest.fixture(params=["sqlite", "postgresql"])
async def used(request: pytest.FixtureRequest, tmp_path: Path, clock: HandClock) -> AsyncIterator[Database]:
    """A database of the former version, with a row."""
    async with contextlib.AsyncExitStack() as stack:
        if request.param == "sqlite":
            store: Database = Sqlite(tmp_path / "data", clock)
        else:
            server = request.getfixturevalue("postgres_server")
            store = await Postgres.open(await stack.enter_async_context(create_database(server)), pool=2)
        await migrate(store)
        await store.write(lambda tx: tx.run("insert into setting (name, value) values ('mine', 'old')"))
        yield store
        await store.close()


async def read_mine(database: Database) -> str:
    row = await database.read(lambda tx: tx.one("select value from setting where name = 'mine'"))
    return row["value"]


def read_copy(path: Path) -> str:
    return apsw.Connection(str(path)).execute("select value from setting where name = 'mine'").get


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_every_migration_that_is_not_plainly_additive_says_its_kind(kind: Kind):
    for migration in list_migrations(kind):
        statements = migration.statements(kind)
        said = migration_kinds.read_kind(migration.text)
        if said is None and migration_kinds.guess_kind(statements) == "data":
            pytest.fail(f"{migration.name}: begin the file with `-- kind: additive` or `-- kind: data`")
        changes = any(_CHANGES_ROWS.match(migration_kinds.strip_comments(text)) for text in statements)
        assert said != "additive" or not changes, migration.name


def test_a_file_that_was_released_before_kinds_keeps_its_checksum():
    before = Migration(1, "x", "create table x (project text primary key);\n")
    assert Migration(1, "x", "-- kind: additive\n" + before.text).checksum == before.checksum
    assert before.find_kind("sqlite") == "additive"
    assert Migration(1, "x", "update x set y = 1;\n").find_kind("sqlite") == "data"


async def test_what_only_adds_is_applied_without_a_question(used: Database, release: Release):
    release(ADDITIVE)
    assert await migrate(used) == 1
    assert await migrate(used) == 0
    if isinstance(used, Sqlite):
        assert list_copies(used.folder.path) == []


async def test_before_data_changes_sqlite_copies_itself_and_postgresql_asks(used: Database, release: Release):
    release(ADDITIVE, CHANGES)
    if isinstance(used, Sqlite):
        assert await migrate(used) == 2
        [copy] = list_copies(used.folder.path)
        assert (read_copy(copy), copy.stat().st_mode & 0o077) == ("old", 0)
    else:
        with pytest.raises(errors.Unavailable, match="9002 changes") as refused:
            await migrate(used)
        assert "commonplace admin migrate" in refused.value.hint
        assert "retry_after" not in refused.value.details
        assert await read_mine(used) == "old"
        assert await migrate(used, is_confirmed=True) == 2
    assert await read_mine(used) == "changed"


async def test_the_plan_shows_what_would_run_and_changes_nothing(used: Database, release: Release):
    release(ADDITIVE, CHANGES)
    shown = render_plan(await plan_migrations(used), used.kind)
    assert shown[1:] == [
        "9001 adds: adds to the schema",
        "9002 changes: CHANGES DATA",
        "       update setting set value = 'changed' where name = 'mine'",
    ]
    assert await read_mine(used) == "old"


async def test_a_migration_that_is_cut_off_leaves_nothing_and_runs_again(used: Database, release: Release):
    release(ADDITIVE, BREAKS)
    with pytest.raises((errors.Refusal, asyncpg.PostgresError, apsw.Error)):
        await migrate(used, is_confirmed=True)
    assert await read_mine(used) == "old"
    release(ADDITIVE, CHANGES)
    assert await migrate(used, is_confirmed=True) == 2
    assert await read_mine(used) == "changed"
    if isinstance(used, Sqlite):
        assert [read_copy(copy) for copy in list_copies(used.folder.path)] == ["old", "old"]


async def test_old_copies_are_deleted_and_a_full_disk_is_refused_before_anything_changes(
    used: Database, release: Release, monkeypatch: pytest.MonkeyPatch
):
    if not isinstance(used, Sqlite):
        pytest.skip("PostgreSQL makes no copies")
    later = [
        Migration(
            9000 + n, "changes", f"-- kind: data\nupdate setting set value = '{n}' where name = 'mine';\n"
        )
        for n in range(5)
    ]
    for count in range(1, 5):
        release(*later[:count])
        await migrate(used)
    assert [read_copy(copy) for copy in list_copies(used.folder.path)] == ["1", "2"]
    release(*later)
    monkeypatch.setattr(sqlite_copies, "_SPARE_BYTES", 10**18)
    with pytest.raises(errors.Unavailable, match="MB are free") as refused:
        await migrate(used)
    assert "--without-copy" in refused.value.hint
    assert await migrate(used, without_copy=True) == 1


async def list_states(store: Postgres) -> dict[str, bool]:
    rows = await store.read(
        lambda tx: tx.all(
            "select c.relname as name, i.indisvalid as valid from pg_index i join pg_class c on c.oid = i.indexrelid"
            " where c.relname like 'later%'"
        )
    )
    return {row["name"]: row["valid"] for row in rows}


async def test_an_index_whose_build_was_interrupted_is_built_again(used: Database, release: Release):
    if not isinstance(used, Postgres):
        pytest.skip("SQLite builds indexes in the transaction of the migration")
    release(ADDITIVE)
    async with used._writers.connections.acquire() as holder, used._writers.connections.acquire() as builder:
        await holder.execute("begin; update setting set value = value")
        await builder.execute("set statement_timeout = 300")
        with pytest.raises(asyncpg.QueryCanceledError):
            await builder.execute("create index concurrently later_setting on setting (value)")
        await holder.execute("rollback")
        await builder.execute("reset statement_timeout")
    assert await list_states(used) == {"later_setting": False}
    assert await migrate(used) == 1
    assert await list_states(used) == {"later_pkey": True, "later_setting": True}


async def test_replicas_that_start_at_once_migrate_once_while_others_write(used: Database, release: Release):
    if not isinstance(used, Postgres):
        pytest.skip("one process has a SQLite folder open")
    release(ADDITIVE, CHANGES)
    others = [await Postgres.open(used.dsn, pool=1) for _ in range(3)]

    async def write_on(tx: Tx) -> None:
        await tx.run("insert into setting (name, value) values ('more', '') on conflict (name) do nothing")

    try:
        started = asyncio.gather(*(migrate(each, is_confirmed=True) for each in others))
        while not started.done():
            await used.write(write_on)
            await asyncio.sleep(0)
        assert sorted(await started) == [0, 0, 2]
    finally:
        await asyncio.gather(*(each.close() for each in others))
    assert await list_states(used) == {"later_pkey": True, "later_setting": True}
