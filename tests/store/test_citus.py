"""A real Citus (`make citus DSN=...`): a used database is distributed, a session runs, a frozen lock ends on a worker."""

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import monotonic
from typing import Any

import pytest

import product
from citus_cluster import CitusCluster
from commonplace import errors
from commonplace.store import citus
from commonplace.store.postgres import Postgres
from commonplace.store.postgres_connection import PostgresTimeouts
from patience import PATIENCE_SECONDS
from team import PATIENT_TIMEOUTS, execute

on_cluster = pytest.mark.skipif(
    not os.environ.get("TEST_CITUS_DSN"), reason="make citus DSN=... names a cluster"
)
_LOCK_COUNTER = (
    "insert into counter (project, name, n) values ($1, 'frozen', 1)"
    " on conflict (project, name) do update set n = counter.n + 1 returning n"
)


@asynccontextmanager
async def open_postgres(dsn: str, timeouts: PostgresTimeouts = PATIENT_TIMEOUTS) -> AsyncIterator[Postgres]:
    store = await Postgres.open(dsn, pool=4, timeouts=timeouts)
    try:
        yield store
    finally:
        await store.close()


def run_distribute(dsn: str, *flags: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        product.command("admin", "distribute", "--store", dsn, *flags),
        capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False, env=product.environment(),
    )  # fmt: skip


@on_cluster
async def test_table_with_rows_is_distributed_by_command_and_again_is_nothing_to_do(
    citus_cluster: CitusCluster,
):
    dsn = citus_cluster.dsn
    await execute(dsn, "select undistribute_table('signal')")
    await execute(dsn, "insert into signal (project, at, id, name, agent, details)"
                       " values ('shop', 1, 'one', 'kept', 'ann', '')")  # fmt: skip
    planned, asked = run_distribute(dsn, "--dry-run"), run_distribute(dsn)
    done, again = run_distribute(dsn, "--yes"), run_distribute(dsn, "--yes")
    async with open_postgres(dsn) as store:
        kept = await store.read(lambda tx: tx.all("select name from signal where project = $1", "shop"))
    await execute(dsn, "delete from signal")
    assert "signal (" in planned.stdout
    assert (asked.returncode, "--yes" in asked.stderr) == (2, True)
    assert "Distributed 1 tables" in done.stdout, done.stderr
    assert "Distributed 0 tables" in again.stdout
    assert [row["name"] for row in kept] == ["kept"]
    await citus_cluster.require_distribution()


@on_cluster
async def test_wrong_placement_is_refused_with_the_way_out(citus_cluster: CitusCluster):
    await execute(citus_cluster.dsn, "select undistribute_table('workspace_place')")
    await execute(citus_cluster.dsn, "select create_reference_table('workspace_place')")
    async with open_postgres(citus_cluster.dsn) as store:
        with pytest.raises(errors.Conflict, match="reference table"):
            await store.write(lambda tx: citus.distribute_table(tx, "workspace_place"))
    await execute(citus_cluster.dsn, "select undistribute_table('workspace_place')")
    await execute(citus_cluster.dsn, "select create_distributed_table('workspace_place', 'id')")


@on_cluster
async def test_wait_for_a_lock_on_a_worker_ends_in_time(citus_cluster: CitusCluster):
    limits = PostgresTimeouts(lock_seconds=0.5)
    is_locked, is_over = asyncio.Event(), asyncio.Event()

    async def hold(tx: Any) -> None:
        await tx.one(_LOCK_COUNTER, "shop")
        is_locked.set()
        await is_over.wait()

    async with open_postgres(citus_cluster.dsn) as first, open_postgres(citus_cluster.dsn, limits) as second:
        holding = asyncio.create_task(first.write(hold))
        await is_locked.wait()
        started = monotonic()
        with pytest.raises(errors.Unavailable):
            await second.write(lambda tx: tx.one(_LOCK_COUNTER, "shop"))
        waited = monotonic() - started
        is_over.set()
        await holding
    assert waited < limits.command_seconds


async def test_settings_of_a_vector_scan_hold_for_one_statement(postgres_dsn: str):
    show = "select current_setting('hnsw.ef_search', true) as width"

    async def scan(tx: Any) -> tuple[Any, Any]:
        inside = await tx.all_with_settings({"hnsw.ef_search": "77"}, show)
        return inside[0]["width"], (await tx.one(show))["width"]

    async with open_postgres(postgres_dsn) as store:
        inside, after = await store.read(scan)
    assert inside == "77"
    assert after != "77"
