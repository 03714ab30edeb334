"""GET /events?project=NAME: the events of a project as server-sent events; `Last-Event-ID` resumes.

If events are missing after that number, an event `reset` says so: the follower reads the state itself and goes on.

For programs and the web page. MCP clients subscribe to resources instead (mcp/publisher.py). The rows are read by
rooms/projects/event_feed.py.
"""

import asyncio
import contextlib
from urllib.parse import parse_qs

import msgspec

from commonplace import errors
from commonplace.access import normalize_project_name
from commonplace.call import Calls
from commonplace.edges.http.numbers import parse_integer
from commonplace.edges.http.request import Request
from commonplace.edges.http.response import ClientWatch, Response
from commonplace.edges.http.router import Identify, Route
from commonplace.quoting.marks import mark_reply
from commonplace.rooms.projects.event_feed import ProjectEventPage, read_events

# How soon a revoked key is noticed on a stream without events.
_RECHECK_SECONDS = 15.0
_NO_EVENT_OF_OURS = 2**63 - 1


class ProjectEvents:
    def __init__(self, calls: Calls, identify: Identify) -> None:
        self._calls, self._identify = calls, identify
        self._open: set[ClientWatch] = set()

    def routes(self) -> dict[str, dict[str, Route]]:
        return {"/events": {"GET": self.follow}}

    def close(self) -> None:
        """End every stream, so that the server can stop."""
        for watch in tuple(self._open):
            watch.stop()

    async def follow(self, request: Request, response: Response) -> None:
        project = _require_project(request)
        after = await self._find_start(request, project)
        with response.watch_client(at_once=True) as watch:
            self._open.add(watch)
            try:
                await self._send_events(request, response, project, after)
            finally:
                self._open.discard(watch)
        with contextlib.suppress(OSError):
            await response.end_body()

    async def _find_start(self, request: Request, project: str) -> int:
        last = (await self._read_page(request, project, None)).last
        text = request.headers.get("last-event-id", "")
        resume = parse_integer(text) if text else last
        return _NO_EVENT_OF_OURS if resume is None else resume

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
                    gone = {"reason": page.reset, "last": page.last}
                    await response.send_event(msgspec.json.encode(gone), "reset", page.last)
                for event in page.events:
                    await response.send_event(mark_reply(msgspec.json.encode(event)), event.kind, event.n)
                if page.last == after:
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(news.wait(), _RECHECK_SECONDS)
                after = page.last
        finally:
            stop()


def _require_project(request: Request) -> str:
    names = parse_qs(request.query.decode("latin-1")).get("project")
    if not names:
        raise errors.Invalid("Missing `project`.", hint="GET /events?project=NAME")
    return normalize_project_name(names[0])
