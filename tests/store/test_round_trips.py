"""How many round trips to PostgreSQL a call takes. A number may only become smaller."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from bench.postgres_relay import PostgresRelay

from commonplace.call import Calls
from commonplace.catalogue import CATALOGUE
from commonplace.config import Settings
from commonplace.store.postgres import Postgres
from team import PATIENT_TIMEOUTS, HandClock, Team

MOST_ROUND_TRIPS = {
    "heartbeat": 2,
    "send_message": 3,
    "record_learning": 6,
    "start_session": 14,
    "lock_files": 8,
    "query": 9,
}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "heartbeat": {"status": "busy", "current_task": "task {n}"},
    "send_message": {"to_instance": "ben", "message": "Message {n} of the round trips."},
    "record_learning": {"topic": "Learning {n}", "content": "The pool of connector {n} drops idle sockets."},
    "start_session": {"project": "shop", "claude_instance": "ann{n}"},
    "lock_files": {"files": ["src/file{n}.py"]},
    "query": {"query": "idle sockets {n}"},
}


@pytest.fixture
async def relay(postgres_dsn: str) -> AsyncIterator[PostgresRelay]:
    async with PostgresRelay(postgres_dsn).run() as running:
        yield running


@pytest.fixture
async def distant_team(relay: PostgresRelay) -> AsyncIterator[Team]:
    """The product with one connection of each pool, so that every statement is prepared after its first use."""
    clock = HandClock()
    database = await Postgres.open(relay.dsn, clock, pool=1, timeouts=PATIENT_TIMEOUTS)
    yield Team(Calls(database, CATALOGUE, Settings(), clock), clock)
    await database.close()


def _arguments(operation: str, n: int) -> dict[str, Any]:
    return {
        name: [each.format(n=n) for each in value] if isinstance(value, list) else value.format(n=n)
        for name, value in ARGUMENTS[operation].items()
    }


async def test_calls_take_few_round_trips(distant_team: Team, relay: PostgresRelay):
    ann, _ = await distant_team.agent("ann"), await distant_team.agent("ben")
    taken: dict[str, int] = {}
    for operation in MOST_ROUND_TRIPS:
        for n in range(3):
            distant_team.clock.advance(minutes=1)
            before = relay.round_trips
            await getattr(ann, operation)(**_arguments(operation, n))
            taken[operation] = relay.round_trips - before
    assert {name: count for name, count in taken.items() if count > MOST_ROUND_TRIPS[name]} == {}, taken
