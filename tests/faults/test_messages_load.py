"""Many agents at once, on each store and on two replicas of one PostgreSQL: nothing lost, doubled or owned twice."""

import asyncio
import contextlib
import random
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from commonplace import errors
from commonplace.call import Calls
from commonplace.catalogue import CATALOGUE
from commonplace.config import Settings
from patience import PATIENCE_SECONDS
from team import Agent, HandClock, Team, open_store

AGENTS = 50
CLAIMANTS = 20
ITEMS = 100

pytestmark = pytest.mark.slow


@contextlib.asynccontextmanager
async def _replica(address, clock: HandClock) -> AsyncIterator[Calls]:
    store = await open_store(address, clock)
    calls = Calls(store, CATALOGUE, Settings(), clock)
    await calls.bus.open()
    try:
        yield calls
    finally:
        await calls.bus.close()
        await store.close()


@pytest.fixture(params=["sqlite", "postgresql", "two replicas"])
def deployment(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def address(deployment: str, request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    return tmp_path / "data" if deployment == "sqlite" else request.getfixturevalue("postgres_dsn")


@pytest.fixture
async def replicas(deployment: str, team: Team, address, clock: HandClock) -> AsyncIterator[list[Calls]]:
    if deployment == "two replicas":
        async with _replica(address, clock) as second:
            yield [team.calls, second]
    else:
        yield [team.calls]


async def _members(team: Team, replicas: list[Calls], size: int) -> list[Agent]:
    """Agents with sessions, each speaking to the replica that it happened to reach."""
    members = [await team.agent(f"agent{n}") for n in range(size)]
    for n, agent in enumerate(members):
        agent.calls = replicas[n % len(replicas)]
    return members


def _write_text(n: int) -> str:
    """Too long to arrive with a notice, which would count as reading it."""
    return f"message {n} " + "and more about it " * 20


async def _read(agent: Agent, got: list[str], **how) -> int:
    """Take a page of mail of any size; how many there were."""
    inbox = await agent.get_messages(limit=random.choice((1, 7, 100)), **how)
    got += [mail["message"] for mail in inbox.get("messages", [])]
    return inbox["count"]


async def test_send_message_reaches_every_recipient_exactly_once(team, replicas, request):
    messages = 2000 if request.config.getoption("--long") else 300
    members = await _members(team, replicas, AGENTS)
    expected: dict[int, set[str]] = defaultdict(set)
    got: list[list[str]] = [[] for _ in members]
    sending = AGENTS

    async def send(sender: int) -> None:
        """Its share of the messages, one of them to everyone."""
        nonlocal sending
        for n in range(sender, messages, AGENTS):
            to_everyone = n // AGENTS == sender % (messages // AGENTS)
            others = [place for place in range(AGENTS) if place != sender]
            recipients = others if to_everyone else [random.choice(others)]
            sent = await members[sender].send_message(
                to_instance="*" if to_everyone else f"agent{recipients[0]}",
                message=_write_text(n),
                priority=random.choice(("urgent", "normal", "low")),
            )
            assert (sent["recipients"], "duplicate" in sent) == (len(recipients), False)
            for recipient in recipients:
                expected[recipient].add(_write_text(n))
        sending -= 1

    async def read_meanwhile(reader: int) -> None:
        while await _read(members[reader], got[reader], wait_seconds=1) or sending:
            pass

    async with asyncio.timeout(4 * PATIENCE_SECONDS):
        await asyncio.gather(
            *(send(n) for n in range(AGENTS)), *(read_meanwhile(n) for n in range(0, AGENTS, 5))
        )
        for place, agent in enumerate(members):
            while await _read(agent, got[place]):
                pass
    assert sum(len(texts) for texts in expected.values()) == messages - AGENTS + AGENTS * (AGENTS - 1)
    for place in range(AGENTS):
        assert Counter(got[place]) == Counter(expected[place])


async def test_get_messages_by_many_sessions_of_one_agent_shares_the_mail_out(team, replicas):
    sender, *_ = await _members(team, replicas, 2)
    readers = [await team.agent("reader") for _ in range(6)]
    for n, reader in enumerate(readers):
        reader.calls = replicas[n % len(replicas)]
    for n in range(120):
        await sender.send_message(to_instance="reader", message=_write_text(n))
    got: list[list[str]] = [[] for _ in readers]

    async def drain(place: int) -> None:
        while await _read(readers[place], got[place]):
            pass

    async with asyncio.timeout(PATIENCE_SECONDS):
        await asyncio.gather(*(drain(place) for place in range(len(readers))))
    assert Counter(text for texts in got for text in texts) == Counter(_write_text(n) for n in range(120))


async def test_claim_message_by_everyone_has_one_winner(team, replicas):
    members = await _members(team, replicas, CLAIMANTS + 1)
    for n in range(10):
        sent = await members[0].send_message(to_instance="*", message=f"who takes {n}?")
        claims = await asyncio.gather(
            *(agent.claim_message(message_id=sent["message_id"]) for agent in members[1:])
        )
        assert sum(claim["claimed"] for claim in claims) == 1
        assert len({claim["owner"] for claim in claims}) == 1


async def test_update_backlog_item_claim_gives_no_item_two_owners(team, replicas):
    members = await _members(team, replicas, CLAIMANTS)
    items: list[str] = []
    for _ in range(ITEMS // 100):
        made = await members[0].batch_backlog(action="create", items=[{"title": "work"}] * 100)
        items += [item["id"] for item in made["items"]]

    async def claim_share(place: int) -> list[str]:
        """Try items in an order of its own, until it has its share and meets one that is taken."""
        won: list[str] = []
        for item in random.sample(items, len(items)):
            try:
                await members[place].update_backlog_item(item_id=item, claim=True)
                won.append(item)
            except errors.Conflict:
                if len(won) >= ITEMS // CLAIMANTS:
                    break
        return won

    async with asyncio.timeout(2 * PATIENCE_SECONDS):
        won = await asyncio.gather(*(claim_share(place) for place in range(CLAIMANTS)))
    assert Counter(item for theirs in won for item in theirs) == Counter(items)
    for place, theirs in enumerate(won):
        mine = await members[place].list_backlog(assigned_to=f"agent{place}", status="in_progress", limit=100)
        assert {item["id"] for item in mine.get("items", [])} == set(theirs)
