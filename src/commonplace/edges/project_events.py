"""GET /events?project=NAME: the events of a project as server-sent events; `Last-Event-ID` resumes.

So does `last_event_id` in the query, for a browser that opens a new stream: there it cannot send the header.

If events are missing after that number, an event `reset` says so: the follower reads the state itself and goes on.

`project=*` follows every project that the caller may see: there the id of an event is its time in microseconds, and after
a resume events of the last seconds may come again; `project` and `n` tell them apart.

For programs and the web page. MCP clients subscribe to resources instead (mcp/publisher.py). The rows are read by
rooms/projects/event_feed.py.
"""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from datetime import datetime
from typing import Any
from urllib.parse import parse_qs

import msgspec

from commonplace import errors
from commonplace.access import ALL_PROJECTS, normalize_project_name
from commonplace.call import Calls
from commonplace.edges.http.request import Request, parse_integer
from commonplace.edges.http.response import ClientWatch, Response
from commonplace.edges.http.router import Identify
from commonplace.quoting.marks import mark_reply
from commonplace.rooms.projects.event_feed import (
    AllEventsPage,
    ProjectEventPage,
    read_all_events,
    read_events,
)

# How soon a revoked key is noticed on a stream without events.
_RECHECK_SECONDS = 15.0
_NO_EVENT_OF_OURS = 2**63 - 1
# Of all projects together events may come faster than anybody reads.
_PAUSE_SECONDS = 0.1

Send = Callable[[], Coroutine[Any, Any, None]]


class ProjectEvents:
    def __init__(self, calls: Calls, identify: Identify) -> None:
        self._calls, self._identify = calls, identify
        self._open: set[ClientWatch] = set()
        self._is_closed = False

    def close(self) -> None:
        """End every stream, so that the server can stop."""
        self._is_closed = True
        for watch in tuple(self._open):
            watch.stop()

    async def follow(self, request: Request, response: Response) -> None:
        project = _require_project(request)
        send = await (
            self._prepare_all(request, response)
            if project == ALL_PROJECTS
            else self._prepare_project(request, response, project)
        )
        if self._is_closed:
            raise _stopping()
        with response.watch_client(at_once=True) as watch:
            self._open.add(watch)
            try:
                await send()
            finally:
                self._open.discard(watch)
        if not response.is_stream:
            raise _stopping()
        with contextlib.suppress(OSError):
            await response.end_body()

    async def _prepare_project(self, request: Request, response: Response, project: str) -> Send:
        after = await self._find_start(request, project)
        return lambda: self._send_events(request, response, project, after)

    async def _prepare_all(self, request: Request, response: Response) -> Send:
        page = await self._read_all(request, {"since": _read_position(request)})
        return lambda: self._send_all_events(request, response, page)

    async def _read_all(self, request: Request, arguments: dict[str, Any]) -> AllEventsPage:
        caller = await self._identify(request.headers, request.address, b"")
        answer = await self._calls.run_operation(read_all_events, arguments, caller)
        page: AllEventsPage = answer.reply
        return page

    async def _send_all_events(self, request: Request, response: Response, page: AllEventsPage) -> None:
        """Read once for many events that come together: the time between two reads is bounded below."""
        news = asyncio.Event()
        stop = self._calls.bus.listen_to_all(news.set)
        try:
            await response.send_comment(b"following")
            while True:
                if page.reset:
                    await _send_reset(response, page.reset, page.last)
                for event in page.events:
                    number = round(datetime.fromisoformat(event.at).timestamp() * 1_000_000)
                    await response.send_event(mark_reply(msgspec.json.encode(event)), number=number)
                if not page.events:
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(_RECHECK_SECONDS):
                            await news.wait()
                    await asyncio.sleep(_PAUSE_SECONDS)
                news.clear()
                page = await self._read_all(request, {"positions": page.positions})
        finally:
            stop()

    async def _find_start(self, request: Request, project: str) -> int:
        last = (await self._read_page(request, project, None)).last
        resume = _read_position(request)
        return last if resume is None else resume

    async def _read_page(self, request: Request, project: str, after: int | None) -> ProjectEventPage:
        """Identify the caller each time: its key may have been revoked since."""
        caller = await self._identify(request.headers, request.address, b"")
        answer = await self._calls.run_operation(read_events, {"project": project, "after": after}, caller)
        page: ProjectEventPage = answer.reply
        return page

    async def _send_events(self, request: Request, response: Response, project: str, after: int) -> None:
        news = asyncio.Event()
        stop = await self._calls.bus.listen_to_project(project, lambda _event: news.set())
        try:
            await response.send_comment(b"following")
            while True:
                news.clear()
                page = await self._read_page(request, project, after)
                if page.reset:
                    await _send_reset(response, page.reset, page.last)
                for event in page.events:
                    await response.send_event(mark_reply(msgspec.json.encode(event)), event.kind, event.n)
                if page.last == after:
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(_RECHECK_SECONDS):
                            await news.wait()
                after = page.last
        finally:
            stop()


def _stopping() -> errors.Unavailable:
    return errors.Unavailable("The server is shutting down.", hint="Connect again.", retry_after=2)


async def _send_reset(response: Response, reason: str, last: int) -> None:
    await response.send_event(msgspec.json.encode({"reason": reason, "last": last}), "reset", last)


def _read_position(request: Request) -> int | None:
    """The header is newer where both are sent: browsers send it when they open the same address again."""
    asked = parse_qs(request.query.decode("latin-1")).get("last_event_id", [""])
    text = request.headers.get("last-event-id") or asked[0]
    if not text:
        return None
    number = parse_integer(text)
    return _NO_EVENT_OF_OURS if number is None else number


def _require_project(request: Request) -> str:
    names = parse_qs(request.query.decode("latin-1")).get("project")
    if not names:
        raise errors.Invalid("Missing `project`.", hint="GET /events?project=NAME")
    return names[0] if names[0] == ALL_PROJECTS else normalize_project_name(names[0])
