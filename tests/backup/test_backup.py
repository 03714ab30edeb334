"""A backup has every row of one moment, from either store into either store, and a restore loses nothing."""

import asyncio
import itertools
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from full_store import TRANSCRIPT, FullStore, digest_store, fill_empty_tables, fill_every_room, settings_of
from sync_client import SyncClient

from commonplace import errors
from commonplace.backup.contents import INDEX_TABLES
from commonplace.backup.inspection import inspect_backup
from commonplace.backup.rotation import delete_old_backups, list_backups
from commonplace.call import Calls
from commonplace.catalogue import CATALOGUE
from commonplace.cli.backup import make_backup
from commonplace.cli.export import export_store
from commonplace.cli.restore import put_in_place
from commonplace.config import Settings
from commonplace.data_folder import DATABASE
from commonplace.store.database import Database
from commonplace.store.migrate import apply_migration_files, list_migrations, migrate
from commonplace.store.sqlite import Sqlite
from patience import PATIENCE_SECONDS
from team import Agent, HandClock, Team, create_database, open_store

STAMPED = "commonplace-20270115T0{}0000Z.tar.zst"


async def back_up(settings: Settings, path: Path, **more: bool) -> Path:
    await make_backup(settings, path, more.get("verify", True))
    return path


async def open_team(settings: Settings, clock: HandClock) -> Team:
    store = await open_store(settings.data if settings.store == "sqlite" else settings.store, clock)
    await migrate(store)
    return Team(Calls(store, CATALOGUE, settings, clock), clock)


async def read_transcript(team: Team, full_store: FullStore) -> bytes:
    sync = SyncClient(team.calls)
    sync.workspace = full_store.sync.workspace
    return await sync.read_all_bytes("whole")


async def test_move_to_a_store_of_either_kind_keeps_every_row(
    full_store: FullStore, target: Settings, tmp_path: Path, clock: HandClock
):
    await fill_empty_tables(full_store.database, full_store.settings)
    file = await back_up(full_store.settings, tmp_path / "team.tar.zst")
    before = await digest_store(full_store.settings)
    assert {name for name, digest in before.items() if not digest.rows} == set()
    await put_in_place(target, inspect_backup(file), keeps_leases=True)
    after = await digest_store(target)
    is_same_kind = full_store.database.kind == ("sqlite" if target.store == "sqlite" else "postgresql")
    compared = set(before) - {"setting"} - (set() if is_same_kind else INDEX_TABLES)
    assert {name for name in compared if before[name] != after[name]} == set()
    team = await open_team(target, clock)
    assert await read_transcript(team, full_store) == TRANSCRIPT
    ann = await team.agent("ann")
    found = await ann.query(query="pool_recycle after a pause")
    assert "PgBouncer closes connections" in [each["title"] for each in found["results"]]
    await ann.record_learning(
        topic="Numbers go on", content="A restored index takes new entries beside the old."
    )
    await team.database.close()


async def test_restore_gives_higher_tokens_and_ends_the_leases_of_the_backup(
    team: Team, address: Path | str, tmp_path: Path, clock: HandClock
):
    await (await team.agent("ann")).lock_files(files=["src/cart.py"])
    file = await back_up(settings_of(address, tmp_path / "beside"), tmp_path / "team.tar.zst", verify=False)
    late = await (await team.agent("ben")).lock_files(files=["src/late.py"])
    target = Settings(data=tmp_path / "restored")
    for _ in range(2):
        await put_in_place(target, inspect_backup(file), keeps_leases=False)
        team = await open_team(target, clock)
        ann = await team.agent("ann")
        assert (await ann.list_locks(project="shop"))["locks"] == []
        again = await ann.lock_files(files=["src/late.py"])
        assert again["locked"][0]["token"] > late["locked"][0]["token"]
        late = again
        await team.database.close()


async def test_restore_keeps_the_old_data(tmp_path: Path, clock: HandClock):
    data = tmp_path / "data"
    team = await open_team(Settings(data=data), clock)
    await (await team.agent("ann")).store(memory_type="adr", title="First", content="Before the backup.")
    await team.database.close()
    file = await back_up(Settings(data=data), tmp_path / "team.tar.zst")
    team = await open_team(Settings(data=data), clock)
    await (await team.agent("ann")).store(memory_type="adr", title="Second", content="After the backup.")
    await team.database.close()
    kept = Path(await put_in_place(Settings(data=data), inspect_backup(file), keeps_leases=False))
    assert kept.name.startswith(f"{DATABASE}.before-")
    assert await list_titles(data, clock) == ["First"]
    (tmp_path / "old").mkdir()
    shutil.move(kept, tmp_path / "old" / DATABASE)
    assert await list_titles(tmp_path / "old", clock) == ["First", "Second"]
    assert [path.name for path in data.glob("commonplace.restoring*")] == []


async def list_titles(data: Path, clock: HandClock) -> list[str]:
    store = Sqlite(data, clock)
    rows = await store.read(
        lambda tx: tx.all("select title from document where project = $1 order by title", "shop")
    )
    await store.close()
    return [row["title"] for row in rows]


async def test_restore_keeps_the_old_tables_of_postgresql_in_a_schema(
    postgres_server: str, tmp_path: Path, clock: HandClock
):
    async with create_database(postgres_server) as dsn:
        settings = settings_of(dsn, tmp_path / "beside")
        team = await open_team(settings, clock)
        await (await team.agent("ann")).store(memory_type="adr", title="First", content="Before.")
        file = await back_up(settings, tmp_path / "team.tar.zst")
        with pytest.raises(errors.Conflict):
            await put_in_place(settings, inspect_backup(file), keeps_leases=False)
        await team.database.close()
        kept = await put_in_place(settings, inspect_backup(file), keeps_leases=False)
        assert kept.startswith("commonplace_before_")
        team = await open_team(settings, clock)
        counts = "select (select count(*) from document) as now, (select count(*) from {}.document) as then"
        row = await team.database.read(lambda tx: tx.one(counts.format(kept)))
        assert (row["now"], row["then"]) == (1, 1)
        await team.database.close()


async def test_restore_is_refused_while_a_server_uses_the_folder(tmp_path: Path, clock: HandClock):
    team = await open_team(Settings(data=tmp_path / "data"), clock)
    file = await back_up(Settings(data=tmp_path / "data"), tmp_path / "team.tar.zst")
    with pytest.raises(errors.Unavailable):
        await put_in_place(Settings(data=tmp_path / "data"), inspect_backup(file), keeps_leases=False)
    await team.database.close()


@pytest.mark.parametrize("broken", ["cut", "changed", "emptied", "without an end"])
async def test_damaged_file_is_refused_before_anything_changes(tmp_path: Path, clock: HandClock, broken: str):
    team = await open_team(Settings(data=tmp_path / "data"), clock)
    await (await team.agent("ann")).store(memory_type="adr", title="First", content="x" * 50_000)
    await team.database.close()
    file = await back_up(Settings(data=tmp_path / "data"), tmp_path / "team.tar.zst", verify=False)
    whole = file.read_bytes()
    middle = len(whole) // 2
    file.write_bytes(
        {
            "cut": whole[:middle],
            "changed": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
            "emptied": b"",
            "without an end": whole[:-200],
        }[broken]
    )
    with pytest.raises(errors.Invalid):
        inspect_backup(file)


async def test_backup_under_load_is_one_moment(
    database: Database, address: Path | str, clock: HandClock, tmp_path: Path
):
    """Every acknowledged write is in it, and no half transaction: an event row for each number of its counter."""
    settings = settings_of(address, tmp_path / "beside")
    team = Team(Calls(database, CATALOGUE, settings, clock), clock)
    agents = [await team.agent(f"agent{n}", project=f"p{n % 3}") for n in range(6)]
    acknowledged: list[str] = []
    begun, done = asyncio.Event(), asyncio.Event()

    async def write_documents(agent: Agent, number: int) -> None:
        for turn in itertools.count():
            if done.is_set():
                return
            reply = await agent.store(
                memory_type="adr", title=f"Decision {number}.{turn}", content=f"Text {turn} of {number}."
            )
            acknowledged.append(reply["id"])
            if len(acknowledged) >= 20:
                begun.set()

    writers = [asyncio.create_task(write_documents(agent, n)) for n, agent in enumerate(agents)]
    await asyncio.wait_for(begun.wait(), PATIENCE_SECONDS)
    before = set(acknowledged)
    file = await asyncio.to_thread(lambda: asyncio.run(back_up(settings, tmp_path / "load.tar.zst")))
    done.set()
    await asyncio.gather(*writers)
    await put_in_place(Settings(data=tmp_path / "restored"), inspect_backup(file), keeps_leases=True)
    store = Sqlite(tmp_path / "restored", clock)
    documents = await store.read(lambda tx: tx.all("select id from document where project <> ''"))
    events = await store.read(
        lambda tx: tx.all(
            "select counter.n, max(event.n) as last, count(*) as events from counter"
            " join event on event.project = counter.project where counter.name = 'event' group by counter.project"
        )
    )
    entries = await store.read(
        lambda tx: tx.all(
            "select document.id from document left join entry on entry.project = document.project"
            " and entry.id = document.id where entry.id is null"
        )
    )
    await store.close()
    assert before <= {row["id"] for row in documents}
    assert [row for row in events if row["n"] != row["last"]] == []
    assert len(events) == 3
    assert entries == []


async def test_backup_of_an_older_schema_is_migrated(tmp_path: Path, clock: HandClock):
    old = Sqlite(tmp_path / "old", clock)
    await apply_migration_files(old, last=21)
    await old.write(
        lambda tx: tx.run(
            "insert into project (name, display_name, registered, ignore_case, created_at) values ('shop', 'shop', 0, 0, 1)"
        )
    )
    await old.write(
        lambda tx: tx.run(
            "insert into guideline (project, name, rule, priority, updated_at, updated_by) values ('shop', 'tests', 'Write tests.', 1, 1, 'ann')"
        )
    )
    await old.close()
    file = await back_up(Settings(data=tmp_path / "old"), tmp_path / "old.tar.zst")
    await put_in_place(Settings(data=tmp_path / "restored"), inspect_backup(file), keeps_leases=False)
    restored = Sqlite(tmp_path / "restored", clock)
    assert await migrate(restored) == 0
    row = await restored.read(lambda tx: tx.one("select id, rule from guideline where project = 'shop'"))
    await restored.close()
    assert (row["rule"], row["id"].startswith("guideline_")) == ("Write tests.", True)
    assert inspect_backup(file).header.schema == 21 < list_migrations("sqlite")[-1].n


async def test_archives_in_a_folder_are_included(
    database: Database, address: Path | str, clock: HandClock, tmp_path: Path
):
    settings = settings_of(address, tmp_path / "beside", archives=str(tmp_path / "archives"))
    full = await fill_every_room(database, clock, settings)
    with pytest.raises(errors.Invalid):
        await back_up(replace(settings, archives="store"), tmp_path / "team.tar.zst")
    file = await back_up(settings, tmp_path / "team.tar.zst")
    assert inspect_backup(file).manifest.archive_bodies == 2
    for archives in ("store", str(tmp_path / "elsewhere")):
        target = Settings(data=tmp_path / f"restored-{len(archives)}", archives=archives)
        await put_in_place(target, inspect_backup(file), keeps_leases=False)
        team = await open_team(target, clock)
        assert await read_transcript(team, full) == TRANSCRIPT
        await team.database.close()
    assert len(list((tmp_path / "elsewhere").rglob("*.zst"))) == 2


async def test_missing_archive_body_is_named(
    database: Database, address: Path | str, clock: HandClock, tmp_path: Path
):
    settings = settings_of(address, tmp_path / "beside", archives=str(tmp_path / "archives"))
    await fill_every_room(database, clock, settings)
    lost, *_ = sorted((tmp_path / "archives").rglob("*.zst"))
    lost.unlink()
    backup = await make_backup(settings, tmp_path / "team.tar.zst", verify=True)
    assert backup.manifest.missing_bodies == [lost.relative_to(tmp_path / "archives").as_posix()]


async def test_failed_backup_leaves_the_former_file_and_nothing_else(tmp_path: Path, clock: HandClock):
    team = await open_team(Settings(data=tmp_path / "data"), clock)
    await team.database.close()
    file = await back_up(Settings(data=tmp_path / "data"), tmp_path / "out" / "team.tar.zst")
    former = file.read_bytes()
    (tmp_path / "data" / DATABASE).write_bytes(b"no database at all" * 1000)
    with pytest.raises(errors.Damaged):
        await back_up(Settings(data=tmp_path / "data"), file)
    assert [path.name for path in file.parent.iterdir()] == ["team.tar.zst"]
    assert file.read_bytes() == former


def test_keep_deletes_the_oldest_backups_and_leaves_other_files(tmp_path: Path):
    names = [STAMPED.format(hour) for hour in range(5)]
    for name in (*names, "notes.tar.zst", f"{names[0]}.part"):
        (tmp_path / name).touch()
    assert [path.name for path in delete_old_backups(tmp_path, 2)] == names[:3]
    assert [path.name for path in list_backups(tmp_path)] == names[3:]
    assert (tmp_path / "notes.tar.zst").exists()
    assert not (tmp_path / f"{names[0]}.part").exists()


async def test_export_is_a_backup_in_a_folder_with_pages_to_read(
    database: Database, address: Path | str, clock: HandClock, tmp_path: Path
):
    full_store = await fill_every_room(database, clock, settings_of(address, tmp_path / "beside"))
    folder, target = tmp_path / "export", Settings(data=tmp_path / "restored")
    await export_store(full_store.settings, folder)
    before = await digest_store(full_store.settings)
    assert inspect_backup(folder).manifest.tables == before
    await put_in_place(target, inspect_backup(folder), keeps_leases=True)
    after = await digest_store(target)
    assert {name for name in set(before) - INDEX_TABLES - {"setting"} if before[name] != after[name]} == set()
    [page] = (folder / "markdown/shop/documents").rglob("PgBouncer-closes-connections-*.md")
    assert "# PgBouncer closes connections" in page.read_text()
    assert (folder / "markdown/shop/guidelines/rounding.md").exists()
    [transcript] = (folder / "transcripts").rglob("whole.jsonl")
    assert transcript.read_bytes() == TRANSCRIPT
    with pytest.raises(errors.Conflict):
        await export_store(full_store.settings, folder)


async def test_tables_of_other_programs_are_left_out(tmp_path: Path, clock: HandClock):
    """Litestream keeps tables of its own in the database."""
    team = await open_team(Settings(data=tmp_path / "data"), clock)
    await team.database.write(lambda tx: tx.run("create table _litestream_seq (id integer, seq integer)"))
    await team.database.close()
    file = await back_up(Settings(data=tmp_path / "data"), tmp_path / "team.tar.zst")
    assert "_litestream_seq" not in inspect_backup(file).manifest.tables
