"""A byte of a document or an archive that changed on disk is found by `doctor` and by backups, on both stores."""

import asyncio
import json
from pathlib import Path

import pytest
from full_store import FullStore, settings_of
from sync_client import register_sync_client

from commonplace import access, errors
from commonplace.__main__ import main
from commonplace.backup.inspection import inspect_backup
from commonplace.call import Calls
from commonplace.catalogue import CATALOGUE
from commonplace.cli.backup import make_backup
from commonplace.cli.restore import put_in_place
from commonplace.config import Settings
from commonplace.rooms.knowledge import store as documents
from commonplace.row_checks import hash_rows_without_hash
from commonplace.store.database import Database
from team import HandClock, Team, open_store

DAMAGE = {
    "document": "update document set content = replace(content, 'pool_recycle=300, else the', 'pool_recycle=301, else the')",
    "document_version": "update document_version set content = replace(content, 'pool_recycle=300, else the', 'pool_recycle=301, else the')",
    "archive": "update archive set lines = lines + 1 where session = 'fixed'",
    "archive_frame": "update archive_frame set sha256 = replace(sha256, 'a', 'b') where session = 'fixed'",
}


async def check_all_rows(team: Team) -> dict[str, object]:
    operator, total, after = team.anyone(access.OPERATOR), {"checked": 0, "unhashed": 0, "damaged": []}, ""
    while True:
        page = await operator.call("memory_check_rows", after=after)
        total = {name: total[name] + page.get(name, type(total[name])()) for name in total}
        if not (after := page.get("next", "")):
            return total


async def count_rows(database: Database) -> int:
    async def count(tx):
        return [await tx.one(f"select count(*) as n from {table}") for table in DAMAGE]

    return sum(row["n"] for row in await database.read(count))


async def damage_rows(database: Database, *tables: str) -> None:
    for table in tables:
        assert await database.write(lambda tx, table=table: tx.run(DAMAGE[table])) >= 1


async def test_a_changed_byte_is_found_by_the_check_and_by_a_backup(full_store: FullStore, tmp_path: Path):
    rows = await count_rows(full_store.database)
    assert await check_all_rows(full_store.team) == {"checked": rows, "unhashed": 0, "damaged": []}
    assert set(DAMAGE) == {table.name for table in CATALOGUE.hashed_tables}
    await damage_rows(full_store.database, *DAMAGE)
    found = (await check_all_rows(full_store.team))["damaged"]
    assert {row.split()[0] for row in found} == set(DAMAGE)
    assert all("/" in row for row in found)
    backup = await make_backup(full_store.settings, tmp_path / "team.tar.zst", verify=True)
    assert sorted(backup.damaged_rows) == sorted(found)


@pytest.fixture
async def small_team(team: Team) -> Team:
    """One document and one archive."""
    ann = await team.agent("ann")
    await ann.record_learning(topic="Pools", content="Set pool_recycle=300, else the first query fails.")
    await (await register_sync_client(team)).upload("fixed", b'{"type":"user"}\n')
    return team


async def test_a_changed_document_that_was_damaged_is_still_found(small_team: Team):
    await damage_rows(small_team.database, "document")
    [damaged] = (await check_all_rows(small_team))["damaged"]
    ann = await small_team.agent("ann")
    await ann.change_status(doc_id=damaged.split("/")[-1], new_status="deprecated")
    assert (await check_all_rows(small_team))["damaged"] == [damaged]


async def test_rows_without_a_hash_get_one_in_batches_by_several_replicas(small_team: Team):
    for table in DAMAGE:
        await small_team.database.write(lambda tx, table=table: tx.run(f"update {table} set row_hash = null"))
    rows = await count_rows(small_team.database)
    assert await check_all_rows(small_team) == {"checked": rows, "unhashed": rows, "damaged": []}
    hashed = await asyncio.gather(*(hash_rows_without_hash(small_team.calls) for _ in range(2)))
    assert sum(hashed) == rows
    assert await check_all_rows(small_team) == {"checked": rows, "unhashed": 0, "damaged": []}


async def test_replaced_texts_are_no_damage(small_team: Team):
    operator = small_team.anyone(access.OPERATOR)
    await operator.call("memory_scrub", name="shop", secret="pool_recycle=300", dry_run=False)
    assert (await check_all_rows(small_team))["unhashed"]
    await hash_rows_without_hash(small_team.calls)
    checked = await check_all_rows(small_team)
    assert (checked["unhashed"], checked["damaged"]) == (0, [])


async def test_two_writers_of_one_document_leave_no_wrong_hash(small_team: Team):
    """The second one computed its hash from a row that the first one changed meanwhile."""
    row = await small_team.database.read(
        lambda tx: tx.one(f"select {documents.DOCUMENT_COLUMNS} from document where project = 'shop'")
    )
    for expires_at in (1, 2):
        await small_team.database.write(
            lambda tx, expires_at=expires_at: documents.update_document_expiry(tx, row, expires_at)
        )
    checked = await check_all_rows(small_team)
    assert (checked["unhashed"], checked["damaged"]) == (1, [])


async def test_archive_bodies_that_move_into_their_rows_are_no_damage(
    database: Database, address: Path | str, clock: HandClock, tmp_path: Path
):
    settings = settings_of(address, tmp_path / "beside", archives=str(tmp_path / "archives"))
    team = Team(Calls(database, CATALOGUE, settings, clock), clock)
    await (await register_sync_client(team)).upload("fixed", b'{"type":"user"}\n')
    backup = await make_backup(settings, tmp_path / "team.tar.zst", verify=True)
    target = Settings(data=tmp_path / "moved")
    await put_in_place(target, inspect_backup(tmp_path / "team.tar.zst"), keeps_leases=True)
    moved = await open_store(target.data, clock)
    try:
        checked = await check_all_rows(Team(Calls(moved, CATALOGUE, target, clock), clock))
    finally:
        await moved.close()
    assert (backup.damaged_rows, checked) == ((), {"checked": 2, "unhashed": 0, "damaged": []})


@pytest.mark.parametrize(
    "after", ["x", "[]", '["document","shop",[]]', '["document","shop",[1]]', '["setting","shop",["a"]]']
)
async def test_check_rows_refuses_what_is_not_a_position(team: Team, after: str):
    with pytest.raises(errors.Invalid):
        await team.anyone(access.OPERATOR).call("memory_check_rows", after=after)


@pytest.mark.processes
async def test_doctor_names_the_damaged_row_and_the_command_that_restores_it(
    small_team: Team, address: Path | str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    await damage_rows(small_team.database, "document")
    [damaged] = (await check_all_rows(small_team))["damaged"]
    settings = settings_of(address, tmp_path / "beside")
    if settings.store == "sqlite":
        await small_team.database.close()
    capsys.readouterr()
    code = await asyncio.to_thread(
        main, ["doctor", "--json", "--data", str(settings.data), "--store", settings.store]
    )
    findings = {each["check"]: each for each in json.loads(capsys.readouterr().out)["findings"]}
    assert (code, findings["rows"]["health"]) == (2, "problem")
    assert damaged in findings["rows"]["message"]
    assert "commonplace restore BACKUP" in findings["rows"]["command"]
