"""Leases when clocks are set, machines sleep, and servers start again: what is left of a lease stays the same."""

import shutil
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from commonplace.call import Calls
from commonplace.catalogue import CATALOGUE
from commonplace.clock import SECOND, iso
from commonplace.config import Settings
from commonplace.rooms.locks import store as lease_time
from commonplace.store.lease_clock import LeaseClock
from team import Agent, HandClock, Team, open_store

DAY, HOUR = 86_400, 3_600


@dataclass
class World:
    """One store whose clock can be set, the clock of the machine that cannot, and servers."""

    address: Path | str
    wall: HandClock = field(default_factory=HandClock)
    boot: int = 7 * SECOND
    servers: list[Team] = field(default_factory=list)

    def pass_time(self, seconds: float) -> None:
        """As awake or asleep: both clocks go on."""
        self.wall.advance(seconds=seconds)
        self.boot += int(seconds * SECOND)

    def set_clock(self, seconds: float) -> None:
        self.wall.advance(seconds=seconds)

    async def start_server(self) -> Team:
        store = await open_store(self.address, self.wall, LeaseClock(lambda: self.boot))
        await lease_time.resume_lease_clock(store)
        self.servers.append(Team(Calls(store, CATALOGUE, Settings(), self.wall), self.wall))
        return self.servers[-1]

    async def stop_servers(self) -> None:
        while self.servers:
            await self.servers.pop().database.close()


@pytest.fixture
async def world(address, sqlite_template):
    if isinstance(address, Path):
        shutil.copytree(sqlite_template, address)
    opened = World(address)
    yield opened
    await opened.stop_servers()


async def can_lock(agent: Agent, file: str = "a.py") -> bool:
    return (await agent.lock_files(files=[file], minutes=1))["success"]


@pytest.mark.parametrize("jump", [DAY, -DAY, 3, -3])
@pytest.mark.parametrize("settled", [False, True])
async def test_a_clock_that_is_set_neither_ends_a_lease_nor_keeps_it(world, jump, settled):
    server = await world.start_server()
    alice, bob = await server.agent("alice"), await server.agent("bob")
    await alice.lock_files(files=["a.py"], minutes=1)
    world.pass_time(10)
    world.set_clock(jump)
    if settled:
        await lease_time.watch_lease_clock(server.database)
    world.pass_time(60)
    assert not await can_lock(bob)
    world.pass_time(10)
    assert await can_lock(bob)


async def test_times_are_shown_by_the_clock_that_people_read(world):
    server = await world.start_server()
    alice, bob = await server.agent("alice"), await server.agent("bob")
    await alice.lock_files(files=["a.py"], minutes=30)
    world.set_clock(DAY)
    await lease_time.watch_lease_clock(server.database)
    until = iso(world.wall() + 30 * 60 * SECOND)
    assert (await alice.get_locks())["your_locks"][0]["expires_at"] == until
    assert (await bob.get_locks())["locks"][0]["expires_at"] == until
    again = await alice.lock_files(files=["b.py"], minutes=30)
    assert again["locked"][0]["expires_at"] == until


async def test_calls_renew_leases_after_the_clock_was_set_back(world):
    server = await world.start_server()
    alice, bob = await server.agent("alice"), await server.agent("bob")
    await alice.lock_files(files=["a.py"], minutes=1)
    world.set_clock(-DAY)
    for _ in range(3):
        world.pass_time(50)
        await alice.heartbeat()
    assert not await can_lock(bob)


@pytest.mark.parametrize("address", ["postgresql"], indirect=True)
@pytest.mark.parametrize("jump", [DAY, -DAY])
async def test_replicas_agree_over_a_jump_whoever_notices_it_first(world, jump):
    first, second = await world.start_server(), await world.start_server()
    alice = await first.agent("alice")
    bob = Agent(second.calls, (await second.agent("bob")).session_id)
    await alice.lock_files(files=["a.py"], minutes=1)
    await bob.get_locks()
    world.set_clock(jump)
    assert not await can_lock(bob)
    await lease_time.watch_lease_clock(second.database)
    await lease_time.watch_lease_clock(first.database)
    assert not await can_lock(bob)
    world.pass_time(76)
    assert await can_lock(bob)
    assert not await can_lock(alice)


@pytest.mark.parametrize("address", ["postgresql"], indirect=True)
@pytest.mark.parametrize("jump", [DAY, -DAY])
async def test_a_replica_that_starts_right_after_a_jump_does_not_give_the_lease_away(world, jump):
    first = await world.start_server()
    alice = await first.agent("alice")
    await alice.lock_files(files=["a.py"], minutes=1)
    await lease_time.watch_lease_clock(first.database)
    world.pass_time(1)
    world.set_clock(jump)
    second = await world.start_server()
    bob = await second.agent("bob")
    assert not await can_lock(bob)
    await lease_time.watch_lease_clock(first.database)
    assert (await alice.heartbeat())["leases_renewed"] == 1
    world.pass_time(76)
    assert await can_lock(bob)


@pytest.mark.parametrize("jump", [DAY, -DAY])
async def test_a_restart_with_another_clock_leaves_a_lease_what_it_had(world, jump, monkeypatch):
    server = await world.start_server()
    alice, bob = await server.agent("alice"), await server.agent("bob")
    await alice.lock_files(files=["a.py"], minutes=1)
    world.pass_time(10)
    await lease_time.watch_lease_clock(server.database)
    await world.stop_servers()
    monkeypatch.setattr(lease_time, "read_boot_id", lambda: "another boot")
    world.set_clock(jump)
    server = await world.start_server()
    bob.calls = server.calls
    world.pass_time(60)
    assert not await can_lock(bob)
    world.pass_time(10)
    assert await can_lock(bob)


async def test_a_crash_before_the_time_was_written_down_keeps_no_lease_longer_than_it_was_given_for(world):
    server = await world.start_server()
    alice, bob = await server.agent("alice"), await server.agent("bob")
    await alice.lock_files(files=["a.py"], minutes=1)
    await world.stop_servers()
    world.set_clock(-DAY)
    server = await world.start_server()
    bob.calls = server.calls
    assert not await can_lock(bob)
    world.pass_time(76)
    assert await can_lock(bob)


async def test_a_lock_asked_for_again_with_fewer_minutes_moves_no_time_at_a_restart(world):
    """Seen with 30 minutes, then 1: the next start took the clock to be set back, and other leases ended."""
    server = await world.start_server()
    alice, bob = await server.agent("alice"), await server.agent("bob")
    await alice.lock_files(files=["long.py"], minutes=30)
    await alice.lock_files(files=["long.py"], minutes=1)
    await alice.lock_files(files=["a.py"], minutes=1)
    await world.stop_servers()
    bob.calls = (await world.start_server()).calls
    assert not await can_lock(bob)


async def test_down_time_of_a_machine_that_was_not_restarted_counts(world):
    server = await world.start_server()
    alice, bob = await server.agent("alice"), await server.agent("bob")
    await alice.lock_files(files=["a.py"], minutes=1)
    await lease_time.watch_lease_clock(server.database)
    await world.stop_servers()
    world.pass_time(HOUR)
    server = await world.start_server()
    bob.calls = server.calls
    assert await can_lock(bob)


async def test_a_small_correction_is_followed_and_not_written_down(world):
    server = await world.start_server()
    alice = await server.agent("alice")
    await alice.lock_files(files=["a.py"])
    for _ in range(10):
        world.pass_time(1)
        world.set_clock(1)
        await lease_time.watch_lease_clock(server.database)
    row = await server.database.read(
        lambda tx: tx.one("select value from setting where name = 'clock_shift'")
    )
    assert row is None
