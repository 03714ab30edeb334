"""A damaged, deleted or replaced SQLite file: nothing is written any more, and the refusal names file and command."""

import shutil
from pathlib import Path

import pytest

from commonplace import errors
from commonplace.call import Calls
from commonplace.catalogue import CATALOGUE
from commonplace.config import Settings
from commonplace.edges.readiness import Readiness
from commonplace.store.sqlite import Sqlite
from team import HandClock


async def write_setting(store, name):
    async def insert(tx):
        await tx.run("insert into setting (name, value) values ($1, 'x')", name)

    await store.write(insert)


@pytest.fixture
async def store(sqlite_template, tmp_path):
    shutil.copytree(sqlite_template, tmp_path / "data")
    opened = Sqlite(tmp_path / "data", HandClock())
    yield opened
    await opened.close()


async def find_problem(store):
    readiness = Readiness(Calls(store, CATALOGUE, Settings(data=store.folder.path), HandClock()))
    await readiness._check()
    return readiness.find_problem()


def move_away(database: Path, is_replaced: bool) -> None:
    moved = database.rename(database.with_suffix(".old"))
    if is_replaced:
        database.write_bytes(moved.read_bytes())


@pytest.mark.parametrize("is_replaced", [False, True])
async def test_a_write_into_a_file_that_is_gone_is_not_acknowledged(store, is_replaced):
    database = store.folder.database
    await write_setting(store, "before")
    move_away(database, is_replaced)
    with pytest.raises(errors.Damaged, match="deleted or replaced") as refused:
        await write_setting(store, "lost")
    assert str(database) in refused.value.message
    assert f"commonplace restore BACKUP --data {store.folder.path}" in refused.value.hint
    with pytest.raises(errors.Damaged):
        await write_setting(store, "more")
    assert "deleted or replaced" in await find_problem(store)


def truncate_file(database: Path) -> None:
    content = database.read_bytes()
    database.write_bytes(content[: len(content) // 2])


def damage_page(database: Path, page: int) -> None:
    content = bytearray(database.read_bytes())
    content[(page - 1) * 4096 : page * 4096] = b"\xff" * 4096
    database.write_bytes(content)


async def test_a_truncated_database_is_not_opened(store):
    await store.close()
    truncate_file(store.folder.database)
    with pytest.raises(errors.Damaged, match=str(store.folder.database)):
        Sqlite(store.folder.path, HandClock())


@pytest.mark.parametrize("how", ["check", "read"])
async def test_damage_that_is_met_stops_the_writes(store, how):
    await write_setting(store, "before")
    root = await store.read(lambda tx: tx.one("select rootpage from sqlite_schema where name = 'setting'"))
    await store.close()
    damage_page(store.folder.database, root["rootpage"])
    damaged = Sqlite(store.folder.path, HandClock())
    meet = (
        damaged.check_pages() if how == "check" else damaged.read(lambda tx: tx.all("select * from setting"))
    )
    try:
        with pytest.raises(errors.Damaged, match=str(store.folder.database)) as refused:
            await meet
        assert "commonplace restore BACKUP" in refused.value.hint
        with pytest.raises(errors.Damaged):
            await write_setting(damaged, "more")
        assert "damaged" in await find_problem(damaged)
    finally:
        await damaged.close()


async def test_a_sound_database_passes_its_check(store):
    await store.check_pages()
    await write_setting(store, "after")
    assert await find_problem(store) == ""
