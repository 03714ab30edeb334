"""Three servers on one PostgreSQL: locks hold across all of them."""

import asyncio
import random
from dataclasses import dataclass
from typing import Any

import pytest

from commonplace.call import Calls
from commonplace.catalogue import CATALOGUE
from commonplace.clock import read_wall_clock
from commonplace.config import Settings
from commonplace.masking.session_ids import hash_session_id
from commonplace.store.postgres import Postgres
from patience import PATIENCE_SECONDS
from team import PATIENT_TIMEOUTS, Agent

A, B, C, D = "src/a.py", "src/b.py", "src/lib/c.py", "docs/d.md"
MEANS = {
    A: {A},
    B: {B},
    C: {C},
    D: {D},
    "src/": {A, B, C},
    "src/*.py": {A, B},
    "**/*.md": {D},
    "./": {A, B, C, D},
}


@dataclass
class Roamer:
    """An agent whose calls reach now this server, now that one."""

    session_id: str
    replicas: list[Calls]
    chance: random.Random

    @property
    def session(self) -> str:
        return hash_session_id(self.session_id)

    def __getattr__(self, name: str) -> Any:
        return getattr(Agent(self.chance.choice(self.replicas), self.session_id), name)


@dataclass
class Grant:
    began: float
    ended: float
    tokens: list[int]


async def _replicas(dsn, clock):
    stores = [await Postgres.open(dsn, clock, pool=4, timeouts=PATIENT_TIMEOUTS) for _ in range(3)]
    replicas = [Calls(store, CATALOGUE, Settings(), clock or read_wall_clock) for store in stores]
    for replica in replicas:
        await replica.bus.open()
    return replicas


async def _close(replicas):
    for replica in replicas:
        await replica.bus.close()
        await replica.database.close()


@pytest.fixture
async def replicas(postgres_dsn):
    """Each with its own connections; the database's clock decides."""
    opened = await _replicas(postgres_dsn, None)
    yield opened
    await _close(opened)


@pytest.fixture
async def replicas_by_hand(postgres_dsn, clock):
    """The same under a clock that the test moves."""
    opened = await _replicas(postgres_dsn, clock)
    yield opened
    await _close(opened)


async def start(replicas: list[Calls], name: str, seed: int = 0) -> Roamer:
    started = await Agent(replicas[0]).start_session(project="shop", claude_instance=name)
    return Roamer(started["session_id"], replicas, random.Random(seed))


async def rivals(replica: Calls, session: str, files: list[str]) -> list[str]:
    """Live locks of others, read past all our code, that meet what this session was just granted."""
    query = (
        "select path from lease where project = 'shop' and session <> $1 and expires_at >"
        " cast(extract(epoch from clock_timestamp()) * 1000000 as bigint)"
    )
    rows = await replica.database.read(lambda tx: tx.all(query, session))
    meant = set().union(*(MEANS[file] for file in files))
    return [row["path"] for row in rows if MEANS[row["path"]] & meant]


async def test_lock_taken_through_one_server_is_refused_through_the_others(replicas):
    alice = Agent(replicas[0], (await start(replicas, "alice")).session_id)
    bob = await start(replicas, "bob")
    await alice.lock_files(files=["src/"])
    for replica in replicas:
        refused = await Agent(replica, bob.session_id).lock_files(files=[A])
        assert (refused["success"], refused["conflicts"][0]["held_by"]) == (False, "alice")
    await alice.unlock_files()
    assert (await Agent(replicas[2], bob.session_id).lock_files(files=[A]))["success"]


async def test_waiting_on_one_server_ends_when_another_hears_the_release(replicas):
    alice, bob = await start(replicas, "alice"), await start(replicas, "bob")
    await alice.lock_files(files=[A])
    waiting = asyncio.create_task(Agent(replicas[1], bob.session_id).lock_files(files=[A], wait_seconds=50))
    await Agent(replicas[2], alice.session_id).unlock_files()
    assert (await asyncio.wait_for(waiting, PATIENCE_SECONDS))["success"]


async def test_twelve_agents_on_three_servers_never_hold_the_same(replicas):
    grants: list[Grant] = []
    refusals = 0

    async def work(agent: Roamer) -> None:
        nonlocal refusals
        loop = asyncio.get_running_loop()
        for _ in range(25):
            files = agent.chance.sample(list(MEANS), agent.chance.choice([1, 1, 2]))
            began = loop.time()
            reply = await agent.lock_files(files=files)
            if not reply["success"]:
                refusals += 1
                continue
            grants.append(Grant(began, loop.time(), [grant["token"] for grant in reply["locked"]]))
            assert await rivals(agent.chance.choice(replicas), agent.session, files) == []
            await agent.unlock_files()

    agents = [await start(replicas, f"agent{n}", seed=n) for n in range(12)]
    await asyncio.gather(*(work(agent) for agent in agents))

    tokens = [token for grant in grants for token in grant.tokens]
    assert len(set(tokens)) == len(tokens)
    for earlier in grants:
        for later in grants:
            if earlier.ended < later.began:
                assert max(earlier.tokens) < min(later.tokens)
    assert len(grants) >= 12
    assert refusals >= 12


async def test_lapsed_lock_wanted_through_three_servers_at_once_goes_to_one(replicas_by_hand, clock):
    holder = await start(replicas_by_hand, "holder")
    agents = [await start(replicas_by_hand, f"agent{n}", seed=n) for n in range(12)]
    for _ in range(5):
        assert (await holder.lock_files(files=["src/"], minutes=1))["success"]
        clock.advance(minutes=2)
        replies = await asyncio.gather(
            holder.heartbeat(), *(agent.lock_files(files=[A], minutes=1) for agent in agents)
        )
        assert sum(reply["success"] for reply in replies[1:]) == 1
        assert (await holder.get_locks())["total_count"] == 1
        for agent in agents:
            await agent.unlock_files()
