"""One HTTP request and its answer: plain JSON, or an event stream once something must be said before the end."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from types import TracebackType
from typing import Any, Final, Self

from commonplace.edges.mcp.limits import Limits
from commonplace.edges.mcp.messages import Interruption

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Header = tuple[bytes, bytes]

# Most calls are over before it pays to watch whether their client is still there.
_UNWATCHED_SECONDS: Final = 0.02
_LINGER_SECONDS: Final = 2.0
_ACCEPTED: Final = 202
_STREAM_HEADERS: Final[list[Header]] = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]
_JSON: Final[Header] = (b"content-type", b"application/json")
_CLOSE: Final[Header] = (b"connection", b"close")


def wait_header(seconds: int | None) -> tuple[Header, ...]:
    """When to try again, where that is known."""
    return () if seconds is None else ((b"retry-after", str(seconds).encode()),)


class ReaderStalled(Interruption):
    """The client has stopped reading what we send; its stream is given up."""


class Exchange:
    def __init__(self, receive: Receive, send: Send, limits: Limits) -> None:
        self.receive = receive
        self._send = send
        self._limits = limits
        self.streaming = False

    async def reply(self, status: int, body: bytes = b"", *headers: Header) -> None:
        """The whole answer at once, or the last event of a stream that has begun."""
        if self.streaming:
            await self.event(body)
            await self.end()
            return
        length = (b"content-length", str(len(body)).encode())
        start = {"type": "http.response.start", "status": status, "headers": [_JSON, length, *headers]}
        await self._send(start)
        await self._send({"type": "http.response.body", "body": body})

    async def reply_and_close(self, status: int, body: bytes, *headers: Header) -> None:
        """Answers a client that is still sending, and listens a moment longer so that it can read why."""
        length = (b"content-length", str(len(body)).encode())
        await self._send(
            {"type": "http.response.start", "status": status, "headers": [_JSON, length, _CLOSE, *headers]}
        )
        await self._send({"type": "http.response.body", "body": body, "more_body": True})
        try:
            async with asyncio.timeout(_LINGER_SECONDS):
                while (await self.receive()).get("more_body"):
                    pass
        except TimeoutError:
            pass
        await self._send({"type": "http.response.body"})

    async def event(self, message: bytes) -> None:
        await self._write(b"event: message\r\ndata: " + message + b"\r\n\r\n")

    async def keep_alive(self) -> None:
        await self._write(b": still here\r\n\r\n")

    async def start_stream(self) -> None:
        self.streaming = True
        await self._send({"type": "http.response.start", "status": 200, "headers": _STREAM_HEADERS})

    async def end(self) -> None:
        await self._send({"type": "http.response.body"})

    async def abandon(self) -> None:
        """Ends without an answer: the client cancelled the request, or is no longer there."""
        if self.streaming:
            await self.end()
        else:
            await self.reply(_ACCEPTED)

    async def _write(self, chunk: bytes) -> None:
        if not self.streaming:
            await self.start_stream()
        try:
            async with asyncio.timeout(self._limits.stalled_reader_seconds):
                await self._send({"type": "http.response.body", "body": chunk, "more_body": True})
        except TimeoutError:
            raise ReaderStalled from None

    def watched(self, *, at_once: bool = False) -> "Watch":
        return Watch(self, self._limits.keep_alive_seconds, 0 if at_once else _UNWATCHED_SECONDS)


class Watch:
    """Stops the work inside when its client goes away or cancels it; `stopped` tells afterwards."""

    def __init__(self, exchange: Exchange, keep_alive_seconds: float, unwatched_seconds: float) -> None:
        self.stopped = False
        self._exchange = exchange
        self._keep_alive_seconds = keep_alive_seconds
        self._unwatched_seconds = unwatched_seconds
        self._watcher: asyncio.Task[None] | None = None

    def __enter__(self) -> Self:
        self._work = asyncio.current_task()
        self._timer = asyncio.get_running_loop().call_later(self._unwatched_seconds, self._start)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> bool:
        self._timer.cancel()
        if self._watcher is not None:
            self._watcher.cancel()
        if self.stopped and kind is asyncio.CancelledError and self._work is not None:
            # The cancellation was ours; a second one from outside must still get through.
            return self._work.uncancel() == 0
        return False

    def stop(self) -> None:
        if not self.stopped and self._work is not None:
            self.stopped = True
            self._work.cancel()

    def _start(self) -> None:
        self._watcher = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        while True:
            try:
                async with asyncio.timeout(self._keep_alive_seconds):
                    message = await self._exchange.receive()
            except TimeoutError:
                await self._say_still_here()
                continue
            if message["type"] == "http.disconnect":
                self.stop()
                return

    async def _say_still_here(self) -> None:
        if not self._exchange.streaming:
            return
        try:
            await self._exchange.keep_alive()
        except ReaderStalled:
            self.stop()
