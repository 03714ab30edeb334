"""GET /events?project=: what happens in a project as server-sent events; Last-Event-ID resumes from the rows."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from urllib.parse import parse_qs

import msgspec

from commonplace import errors
from commonplace.access import project_name
from commonplace.call import Calls
from commonplace.edges.http import Identify, Request, Route, Send
from commonplace.rooms.projects.events import Followed, read_events

_QUIET_SECONDS = 15.0
_STALLED_SECONDS = 30.0
_HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]


class Stream:
    def __init__(self, calls: Calls, identify: Identify) -> None:
        self._calls, self._identify = calls, identify
        self._open: set[asyncio.Task[None]] = set()

    def routes(self) -> dict[str, dict[str, Route]]:
        return {"/events": {"GET": self.follow}}

    def close(self) -> None:
        """End every stream, so that the server can stop."""
        for task in self._open:
            task.cancel()

    async def follow(self, request: Request, send: Send) -> None:
        project = _asked(request)
        after = await self._start(request, project)
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        writing = asyncio.create_task(self._write(send, request, project, after))
        self._open.add(writing)
        leaving = asyncio.create_task(request.gone())
        try:
            await asyncio.wait({writing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._open.discard(writing)
            for task in (writing, leaving):
                task.cancel()
            await asyncio.gather(writing, leaving, return_exceptions=True)
        with contextlib.suppress(OSError):
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _start(self, request: Request, project: str) -> int:
        now = (await self._page(request, project, None)).last
        given = request.headers.get("last-event-id", "")
        return int(given) if given.isdigit() else now

    async def _page(self, request: Request, project: str, after: int | None) -> Followed:
        """The key is asked each time: it may have been revoked since."""
        caller = await self._identify(request.headers, request.address, b"")
        answer = await self._calls.read(read_events, {"project": project, "after": after}, caller)
        page: Followed = answer.reply
        return page

    async def _write(self, send: Send, request: Request, project: str, after: int) -> None:
        async for frame in self._frames(request, project, after):
            async with asyncio.timeout(_STALLED_SECONDS):
                await send({"type": "http.response.body", "body": frame, "more_body": True})

    async def _frames(self, request: Request, project: str, after: int) -> AsyncIterator[bytes]:
        heard = asyncio.Event()
        stop = await self._calls.bus.listen(project, lambda _event: heard.set())
        try:
            yield b": following\n\n"
            while True:
                heard.clear()
                page = await self._page(request, project, after)
                for event in page.events:
                    yield (
                        f"id: {event.n}\nevent: {event.kind}\ndata: ".encode()
                        + msgspec.json.encode(event)
                        + b"\n\n"
                    )
                if page.last == after and not await _within(heard, _QUIET_SECONDS):
                    yield b": still here\n\n"
                after = page.last
        finally:
            stop()


async def _within(heard: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await heard.wait()
    except TimeoutError:
        return False
    return True


def _asked(request: Request) -> str:
    named = parse_qs(request.query.decode("latin-1")).get("project")
    if not named:
        raise errors.Invalid("Which project?", hint="GET /events?project=NAME")
    return project_name(named[0])
