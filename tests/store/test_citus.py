"""Distributing a database on a stand-in for Citus: new ones, used ones, interrupted runs, and what Citus refuses."""

import asyncio
import re
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest

import product
from citus_cluster import CitusCluster, create_citus_double
from commonplace import errors
from commonplace.call import Calls
from commonplace.catalogue import CATALOGUE
from commonplace.config import Settings
from commonplace.store import citus, migrate
from commonplace.store.migrate import Migration, list_migrations
from commonplace.store.postgres import Postgres
from documented_calls import CallRunner, run_in_process
from operation_docs import register_sample_database, render_room
from patience import PATIENCE_SECONDS
from team import PATIENT_TIMEOUTS, HandClock, create_database, execute


@asynccontextmanager
async def open_postgres(dsn: str, clock: HandClock | None = None) -> AsyncIterator[Postgres]:
    store = await Postgres.open(dsn, clock, pool=4, timeouts=PATIENT_TIMEOUTS)
    try:
        yield store
    finally:
        await store.close()


async def fetch(dsn: str, sql: str) -> list[Any]:
    connection = await asyncpg.connect(dsn)
    try:
        return [row[0] for row in await connection.fetch(sql)]
    finally:
        await connection.close()


async def list_placements(dsn: str) -> dict[str, str]:
    connection = await asyncpg.connect(dsn)
    try:
        rows = await connection.fetch("select logicalrelid::text as name, column_name from pg_dist_partition")
        return {row["name"]: row["column_name"] for row in rows}
    finally:
        await connection.close()


def run_distribute(dsn: str, *flags: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        product.command("admin", "distribute", "--store", dsn, *flags),
        capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False, env=product.environment(),
    )  # fmt: skip


async def test_three_servers_start_at_once_on_an_empty_cluster_and_every_room_answers(
    postgres_server: str, clock: HandClock, tmp_path: Path
):
    async with create_citus_double(postgres_server) as dsn, open_postgres(dsn, clock) as store:
        others = [await Postgres.open(dsn, pool=1, timeouts=PATIENT_TIMEOUTS) for _ in range(2)]
        try:
            await asyncio.gather(*(migrate.migrate(each) for each in (store, *others)))
        finally:
            await asyncio.gather(*(each.close() for each in others))
        placements = await list_placements(dsn)
        distributed = await fetch(dsn, "select relation from citus_double_call")
        settings = await fetch(dsn, "select current_setting('citus.propagate_set_commands', true)")
        await run_every_room(store, clock, tmp_path)
    assert len(distributed) == len(set(distributed)) == len(placements)
    assert {name for name, column in placements.items() if not column} == citus.REFERENCE_TABLES
    assert {name for name, column in placements.items() if column == "id"} == citus.TABLES_BY_ID
    assert placements["event"] == "project"
    assert settings == ["local"]


async def run_every_room(store: Postgres, clock: HandClock, folder: Path) -> None:
    """The documented calls of all rooms; a refusal of the stand-in is an error in them."""
    calls = Calls(store, CATALOGUE, Settings(), clock)
    await calls.bus.open()
    runner = CallRunner(run_in_process(calls), clock.advance)
    try:
        with register_sample_database(folder / "shop.db"):
            for room in CATALOGUE.rooms:
                await render_room(room, runner, Path(__file__).parents[2])
    finally:
        await calls.bus.close()


async def test_used_database_is_distributed_by_command_and_an_interrupted_run_goes_on(postgres_server: str):
    async with create_citus_double(postgres_server, has_extension=False) as dsn:
        async with open_postgres(dsn) as store:
            await migrate.migrate(store)
            await execute(dsn, "insert into project values ('shop', 'shop', 0, 0, 1)")
            planned = run_distribute(dsn, "--dry-run")
            asked = run_distribute(dsn)
            await execute(dsn, "create extension citus")
            await execute(dsn, "create trigger stray before update on event execute function"
                               " citus_double_refuse_key_change()")  # fmt: skip
            await migrate.migrate(store)
            untouched = await list_placements(dsn)
        broken = run_distribute(dsn, "--yes")
        begun = await list_placements(dsn)
        await execute(dsn, "drop trigger stray on event")
        finished = run_distribute(dsn, "--yes")
        again = run_distribute(dsn, "--yes")
        calls = await fetch(dsn, "select relation from citus_double_call where function like 'create%'")
        freed = await fetch(
            dsn, "select distinct relation from citus_double_call where function like 'trunc%'"
        )
        await CitusCluster(dsn).require_distribution()
    assert planned.returncode == 0, planned.stderr
    assert re.search(r"project \(about \d+ rows, \d+ KB\): a copy on every node", planned.stdout)
    assert "Warning: servers are connected" in planned.stdout
    assert (asked.returncode, "--yes" in asked.stderr) == (2, True)
    assert untouched == {}
    assert (broken.returncode, "triggers" in broken.stderr, "goes on from here" in broken.stderr) == (
        8,
        True,
        True,
    )
    assert 0 < len(begun) < len(calls)
    assert (finished.returncode, again.returncode) == (0, 0), finished.stderr + again.stderr
    assert f"Distributed {len(calls) - len(begun)} tables" in finished.stdout
    assert "Distributed 0 tables" in again.stdout
    assert len(calls) == len(set(calls))
    assert "project" in freed


async def test_new_table_of_a_migration_is_distributed_when_it_is_created(
    postgres_server: str, monkeypatch: pytest.MonkeyPatch
):
    last = list_migrations("postgresql")[-1].n
    later = Migration(
        last + 1,
        "later",
        "-- kind: additive\ncreate table later (project text not null, id text not null, primary key (project, id));\n\n"
        "create extension if not exists vector;\n\n"
        "insert into later (project, id) select 'shop', 'one';\n",
    )
    async with create_citus_double(postgres_server) as dsn, open_postgres(dsn) as store:
        await migrate.migrate(store)
        await execute(dsn, "insert into project values ('shop', 'shop', 0, 0, 1)")
        known = list_migrations("postgresql")
        monkeypatch.setattr("commonplace.store.migrate.list_migrations", lambda _kind: [*known, later])
        await migrate.migrate(store)
        placements = await list_placements(dsn)
    assert placements["later"] == "project"


async def test_what_citus_refuses_is_refused_by_the_stand_in(postgres_server: str):
    refused = {
        "create table t (id text primary key, project text)": "UNIQUE",
        "create table t (project text); create table u (project text unique references project);"
        " select create_distributed_table('u', 'project')": "foreign key",
        "create table t (project text primary key); create trigger x before insert on t"
        " execute function citus_double_refuse_key_change()": "triggers",
    }
    async with create_citus_double(postgres_server) as dsn:
        await execute(dsn, "create table project (name text primary key)")
        for sql, words in refused.items():
            with pytest.raises(asyncpg.PostgresError, match=words) as refusal:
                await execute(dsn, f"begin; {sql.replace('references project', 'references project (name)')};"
                                   " select create_distributed_table('t', 'project'); commit")  # fmt: skip
            assert refusal
        with pytest.raises(asyncpg.PostgresError, match="parallel operation"):
            await execute(dsn, "begin; select create_reference_table('project');"
                               " create extension if not exists vector; commit")  # fmt: skip
        await execute(dsn, "begin; set local citus.multi_shard_modify_mode = 'sequential';"
                           " select create_reference_table('project');"
                           " create extension if not exists vector; commit")  # fmt: skip


async def test_server_without_citus_and_a_leg_without_distribution_are_told(postgres_server: str):
    async with create_database(postgres_server) as dsn:
        refused = run_distribute(dsn, "--yes")
        with pytest.raises(RuntimeError, match="not distributed"):
            await CitusCluster(dsn).prepare()
    assert (refused.returncode, "shared_preload_libraries" in refused.stderr) == (8, True)


async def test_wrong_placement_is_refused_with_the_way_out(postgres_server: str):
    async with create_citus_double(postgres_server) as dsn:
        await execute(dsn, "create table workspace_place (id text primary key, project text not null)")
        await execute(dsn, "select create_reference_table('workspace_place')")
        async with open_postgres(dsn) as store:
            with pytest.raises(errors.Conflict, match="reference table"):
                await store.write(lambda tx: citus.distribute_table(tx, "workspace_place"))


async def test_settings_of_a_vector_scan_hold_for_one_statement(postgres_dsn: str):
    show = "select current_setting('hnsw.ef_search', true) as width"

    async def scan(tx: Any) -> tuple[Any, Any]:
        inside = await tx.all_with_settings({"hnsw.ef_search": "77"}, show)
        return inside[0]["width"], (await tx.one(show))["width"]

    async with open_postgres(postgres_dsn) as store:
        inside, after = await store.read(scan)
    assert inside == "77"
    assert after != "77"
