"""What bounds a query through memory_db: rows, bytes, time, and how many run at once."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from guarded_databases import DatabaseAddress, refusal_code_of

from commonplace.rooms.databases import store
from commonplace.rooms.databases.query_limits import query_limiter
from commonplace.sqlguard import sqlite
from patience import PATIENCE_SECONDS, wait_until_async
from team import Team

# Six hundred million rows: it runs for as long as it is let.
SLOW_POSTGRESQL = (
    "select count(*) from orders a, orders b, orders c, users d where a.id <> b.id and b.id <> c.id"
)
SLOW_SQLITE = (
    "select count(*) from users a, users b, users c, users d, users e, users f where a.id <> f.id + 50"
)

# Tests that do not involve the product's own store run on one of them.
ONE_STORE = pytest.mark.parametrize("address", ["sqlite"], indirect=True)


@pytest.mark.parametrize("limit", [2, 100])
async def test_query_is_capped_by_rows(team: Team, register: Any, lite: DatabaseAddress, limit: int):
    register("APP", lite, MAX_ROWS="5")
    alice = await team.agent("alice")
    answer = await alice.db(action="query", database="app", query="select id from users", limit=limit)
    assert (answer["row_count"], answer["truncated"]) == (min(limit, 5), True)


@ONE_STORE
async def test_query_is_capped_by_bytes_and_cells(
    team: Team, register: Any, lite: DatabaseAddress, postgres: Any
):
    register("LITE", lite)
    register("PG", postgres[1])
    alice = await team.agent("alice")
    texts = {"pg": ("repeat('x', 9000)", "string_agg"), "lite": ("printf('%9000d', 1)", "group_concat")}
    for name, (text, joined) in texts.items():
        many = f"select {text} from users a, users b where a.id <> b.id"
        wide = f"select {joined}({text}, '') from users"
        rows = await alice.db(action="query", database=name, query=many, limit=400)
        cell = await alice.db(action="query", database=name, query=wide)
        assert rows["truncated"]
        assert 1_000_000 <= sum(len(row[0]) for row in rows["rows"]) < 1_100_000
        assert cell["truncated"]
        assert len(cell["rows"][0][0]) == 65_537


async def _count_running_queries(dsn: str) -> int:
    connection = await asyncpg.connect(dsn)
    try:
        found = await connection.fetchval(
            "select count(*) from pg_stat_activity where application_name = 'commonplace' and state = 'active'"
            " and datname = current_database()"
        )
        return int(found)
    finally:
        await connection.close()


@ONE_STORE
async def test_query_of_postgresql_ends_at_its_timeout(team: Team, register: Any, postgres: Any):
    register("APP", postgres[1], TIMEOUT="0.3")
    alice = await team.agent("alice")
    assert (
        await refusal_code_of(alice.db(action="query", database="app", query=SLOW_POSTGRESQL)) == "too_large"
    )

    async def has_ended() -> bool:
        return await _count_running_queries(postgres[0]) == 0

    await wait_until_async(has_ended)


async def test_query_of_postgresql_ends_when_its_caller_goes_away(team: Team, register: Any, postgres: Any):
    register("APP", postgres[1])
    alice = await team.agent("alice")
    asking = asyncio.create_task(alice.db(action="query", database="app", query=SLOW_POSTGRESQL))

    async def runs() -> bool:
        return await _count_running_queries(postgres[0]) == 1

    await wait_until_async(runs)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking

    async def ended() -> bool:
        return await _count_running_queries(postgres[0]) == 0

    await wait_until_async(ended)


@ONE_STORE
async def test_query_of_sqlite_is_killed_at_its_timeout_and_others_go_on(
    team: Team, register: Any, lite: DatabaseAddress
):
    register("HURRIED", lite, TIMEOUT="0.5")
    register("APP", lite)
    alice, bob = await team.agent("alice"), await team.agent("bob")
    asking = asyncio.create_task(
        refusal_code_of(alice.db(action="query", database="hurried", query=SLOW_SQLITE))
    )
    assert (await bob.db(action="query", database="app", query="select 1"))["rows"] == [[1]]
    assert await asking == "too_large"
    assert query_limiter(store.load_registered_databases()["hurried"]).running_by_agent == {}
    assert (await alice.db(action="query", database="app", query="select 2"))["rows"] == [[2]]


@ONE_STORE
async def test_query_is_refused_while_an_agent_has_two_running(
    team: Team, register: Any, lite: DatabaseAddress
):
    register("APP", lite)
    alice = await team.agent("alice")
    running = [
        asyncio.create_task(alice.db(action="query", database="app", query=SLOW_SQLITE)) for _ in range(2)
    ]
    held = store.load_registered_databases()["app"]

    async def both() -> bool:
        return query_limiter(held).running_by_agent.get("alice") == 2

    await wait_until_async(both)
    assert await refusal_code_of(alice.db(action="query", database="app", query="select 1")) == "too_many"
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    assert (await alice.db(action="query", database="app", query="select 1"))["rows"] == [[1]]


@ONE_STORE
async def test_database_rests_after_five_timeouts_in_a_minute(
    team: Team, register: Any, lite: DatabaseAddress
):
    register("APP", lite, TIMEOUT="0.05")
    alice = await team.agent("alice")
    codes = [
        await refusal_code_of(alice.db(action="query", database="app", query=SLOW_SQLITE)) for _ in range(6)
    ]
    assert codes == ["too_large"] * 5 + ["too_many"]


def test_worker_that_reads_sqlite_ends_with_the_server(lite: DatabaseAddress):
    limits = {"max_cell": 100, "max_bytes": 1000}
    setup = {"path": lite.database, "functions": ["count"], "pragmas": []} | limits
    query = {"sql": SLOW_SQLITE, "parameters": [], "max_rows": 5, "seconds": 60, "schema": ""}
    command = [sys.executable, str(Path(sqlite.__file__).with_name("sqlite_worker.py"))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as worker:
        worker.stdin.write(b"".join(json.dumps(line).encode() + b"\n" for line in (setup, query)))
        worker.stdin.flush()
        schema = json.loads(worker.stdout.readline())["schema"]
        worker.communicate(json.dumps(query | {"schema": schema}).encode() + b"\n", timeout=PATIENCE_SECONDS)
    assert worker.returncode == 1
