"""One project whose locks are held takes not all connections: other projects go on, and not everybody may wait."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import pytest

from commonplace import errors
from commonplace.call import Calls
from commonplace.catalogue import CATALOGUE
from commonplace.config import Settings
from commonplace.store.postgres import Postgres
from commonplace.store.project_lanes import LaneFull, LaneTicket, ProjectLanes
from patience import PATIENCE_SECONDS, wait_until_async
from team import PATIENT_TIMEOUTS, Agent, HandClock, Team

CALLERS = 30


@asynccontextmanager
async def held_locks(dsn: str, project: str) -> AsyncIterator[None]:
    """Another server holds the locks of the project, as one does that hangs in the middle of a transaction."""
    connection = await asyncpg.connect(dsn)
    try:
        async with connection.transaction():
            await connection.execute("select 1 from counter where project = $1 for update", project)
            await connection.execute("select 1 from session where project = $1 for update", project)
            yield
    finally:
        await connection.close()


@pytest.fixture
async def busy_team(postgres_dsn: str, clock: HandClock) -> AsyncIterator[Team]:
    store = await Postgres.open(postgres_dsn, clock, pool=5, timeouts=PATIENT_TIMEOUTS)
    calls = Calls(store, CATALOGUE, Settings(), clock)
    await calls.bus.open()
    yield Team(calls, clock)
    await calls.bus.close()
    await store.close()


async def test_other_projects_go_on_while_the_locks_of_one_are_held(busy_team: Team, postgres_dsn: str):
    shop = [await busy_team.agent(f"agent{n}", "shop") for n in range(CALLERS)]
    farm = await busy_team.agent("farmer", "farm")
    async with held_locks(postgres_dsn, "shop"):
        stuck = [asyncio.create_task(lock_file(agent, n)) for n, agent in enumerate(shop)]
        await wait_until_async(lambda: busy_team.calls.admission.running == CALLERS)
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert await lock_file(farm, 1)
            assert await lock_file(farm, 2)
        assert not any(task.done() for task in stuck)
    async with asyncio.timeout(PATIENCE_SECONDS):
        assert await asyncio.gather(*stuck) == [True] * CALLERS


async def lock_file(agent: Agent, n: int) -> bool:
    return bool((await agent.lock_files(files=[f"{n}.py"]))["success"])


async def test_each_stuck_project_leaves_some_connections_to_the_others():
    lanes = ProjectLanes(10)
    used = dict.fromkeys(("a", "b", "c"), 0)
    for name in used:
        while lanes.try_enter(name):
            used[name] += 1
    assert used == {"a": 8, "b": 1, "c": 1}
    assert not lanes.try_enter("d")
    lanes.leave("a")
    assert lanes.try_enter("d")


async def test_places_are_given_in_the_order_of_arrival():
    lanes, order = ProjectLanes(1), []

    async def enter(name: str) -> None:
        await lanes.enter("shop", PATIENCE_SECONDS)
        order.append(name)
        lanes.leave("shop")

    assert lanes.try_enter("shop")
    tasks = [asyncio.create_task(enter(name)) for name in ("first", "second", "third")]
    await asyncio.sleep(0)
    tasks[1].cancel()
    await asyncio.sleep(0)
    lanes.leave("shop")
    await asyncio.gather(*tasks, return_exceptions=True)
    assert order == ["first", "third"]
    assert lanes.try_enter("shop")


async def test_too_many_who_wait_and_who_wait_too_long_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("commonplace.store.project_lanes._MAX_WAITING", 1)
    lanes = ProjectLanes(1)
    ticket = LaneTicket(lanes)
    ticket.claim("shop")
    with pytest.raises(LaneFull):
        LaneTicket(lanes).claim("shop")
    waiting = asyncio.create_task(lanes.enter("shop", PATIENCE_SECONDS))
    await asyncio.sleep(0)
    with pytest.raises(errors.Unavailable) as refused:
        await lanes.enter("shop", PATIENCE_SECONDS)
    assert refused.value.details["retry_after"] > 0
    ticket.leave()
    await waiting
    with pytest.raises(errors.Unavailable):
        await lanes.enter("shop", 0)
