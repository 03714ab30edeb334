"""A stream of events ends when its client leaves, also in the very moment in which an event arrives."""

import asyncio
from typing import Any

import pytest

from commonplace import access, errors
from commonplace.edges.http.request import Request
from commonplace.edges.http.response import Response
from commonplace.edges.limits import ClientLimits
from commonplace.edges.project_events import ProjectEvents
from patience import PATIENCE_SECONDS
from team import Team

STEPS_FROM_AN_EVENT_TO_ITS_FOLLOWER = 5
STEPS_TO_THE_FIRST_EVENT = 12


async def identify(*_: object) -> access.Caller:
    return access.LOCAL


class OpenStream:
    """One client of GET /events, without a socket."""

    def __init__(self, events: ProjectEvents, query: bytes) -> None:
        self.is_following = asyncio.Event()
        self.sent: list[str] = []
        scope = {"method": "GET", "path": "/events", "query_string": query, "headers": []}
        request = Request(scope, asyncio.Future, ClientLimits())
        self.task = asyncio.create_task(events.follow(request, Response(request, self._send)))

    async def _send(self, message: Any) -> None:
        self.sent.append(message["type"])
        if b"following" in message.get("body", b""):
            self.is_following.set()


@pytest.mark.parametrize("steps", range(STEPS_FROM_AN_EVENT_TO_ITS_FOLLOWER))
@pytest.mark.parametrize("query", [b"project=shop", b"project=*"])
async def test_stream_ends_while_an_event_arrives(team: Team, steps: int, query: bytes):
    await team.agent("ann")
    events = ProjectEvents(team.calls, identify)
    stream = OpenStream(events, query)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await stream.is_following.wait()
        await team.agent("ben")
        for _ in range(steps):
            await asyncio.sleep(0)
        events.close()
        await stream.task


@pytest.mark.parametrize("query", [b"project=shop", b"project=*"])
async def test_stream_that_had_not_begun_when_the_server_stops_is_refused_or_ended(team: Team, query: bytes):
    """A body without its head would be an error of the server."""
    await team.agent("ann")
    seen = set()
    for steps in range(STEPS_TO_THE_FIRST_EVENT):
        events = ProjectEvents(team.calls, identify)
        stream = OpenStream(events, query)
        for _ in range(steps):
            await asyncio.sleep(0)
        events.close()
        async with asyncio.timeout(PATIENCE_SECONDS):
            try:
                await stream.task
                seen.add("ended")
            except errors.Unavailable:
                seen.add("refused")
        assert stream.sent[:1] in ([], ["http.response.start"])
    assert "refused" in seen
