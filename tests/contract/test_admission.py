"""Calls in progress are bounded: one more is refused at once; who waits for an event takes no place."""

import asyncio

import pytest

from commonplace import errors
from commonplace.call import Calls
from commonplace.catalogue import CATALOGUE
from commonplace.config import Settings
from patience import PATIENCE_SECONDS, wait_until_async
from team import Team


@pytest.fixture
async def small(database, clock):
    """A product that runs one call at a time."""
    calls = Calls(database, CATALOGUE, Settings(max_calls=1), clock)
    await calls.bus.open()
    yield Team(calls, clock)
    await calls.bus.close()


async def test_one_call_too_many_is_refused_with_retry_after(small: Team):
    alice = await small.agent("alice")
    with small.calls.admission.admit_call(), pytest.raises(errors.Unavailable) as refused:
        await alice.heartbeat()
    assert refused.value.details == {"retry_after": 1}
    assert "error" not in await alice.heartbeat()
    assert (small.calls.admission.running, small.calls.admission.refused) == (0, 1)


async def test_calls_that_wait_for_an_event_leave_their_place_to_others(small: Team):
    alice, bob = await small.agent("alice"), await small.agent("bob")
    waiting = asyncio.create_task(bob.get_messages(wait_seconds=50))
    await wait_until_async(lambda: small.calls.admission.waiting == 1)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await alice.send_message(to_instance="bob", message="hello")
        assert [mail["from"] for mail in (await waiting)["messages"]] == ["alice"]
    assert (small.calls.admission.running, small.calls.admission.waiting) == (0, 0)


async def test_calls_that_wait_answer_when_the_server_stops(small: Team):
    bob = await small.agent("bob")
    waiting = asyncio.create_task(bob.get_messages(wait_seconds=50))
    await wait_until_async(lambda: small.calls.admission.waiting == 1)
    small.calls.admission.stop_waiting()
    async with asyncio.timeout(PATIENCE_SECONDS):
        assert (await waiting)["messages"] == []
        assert (await bob.get_messages(wait_seconds=50))["messages"] == []
