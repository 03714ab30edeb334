"""The answer to one request: a whole body, a refusal, or server-sent events; the same security headers on each.

Every write is bounded in time, so that a client that stops reading costs only itself. `watch_client` stops the
work of a request whose client goes away. Which route answers is decided in router.py.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, MutableMapping
from http import HTTPStatus
from types import TracebackType
from typing import Any, Final, Self, TypeVar

import msgspec

from commonplace import errors
from commonplace.edges.http.request import ClientDisconnected, Request
from commonplace.quoting.marks import mark_reply

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Header = tuple[bytes, bytes]
T = TypeVar("T")

JSON_TYPE: Final = b"application/json"
# Most calls are over before it pays to watch whether their client is still there, also on a busy machine.
_UNWATCHED_SECONDS: Final = 0.25
_ACCEPTED: Final = 202
_UNAUTHENTICATED: Final = 401
_SECURITY_HEADERS: Final[tuple[Header, ...]] = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
)
# A proxy that compresses or buffers would hold events back.
_STREAM_HEADERS: Final[tuple[Header, ...]] = (
    (b"content-type", b"text/event-stream"),
    (b"x-accel-buffering", b"no"),
    *_SECURITY_HEADERS[:2],
    (b"cache-control", b"no-store, no-transform"),
)
_CLOSE: Final[tuple[Header, ...]] = ((b"connection", b"close"),)
# Details of a refusal that HTTP has a header for.
_DETAIL_HEADERS: Final = {"allow": b"allow", "retry_after": b"retry-after", "content_range": b"content-range"}


def encode_refusal(refusal: errors.Refusal) -> bytes:
    """The whole answer to a request that did not become one: its connection is closed after it."""
    body = msgspec.json.encode(refusal.to_dict())
    head = [
        (b"content-type", JSON_TYPE),
        (b"content-length", b"%d" % len(body)),
        *_SECURITY_HEADERS,
        *_CLOSE,
    ]
    lines = b"".join(b"%s: %s\r\n" % field for field in head)
    return b"HTTP/1.1 %d %s\r\n%s\r\n%s" % (
        refusal.status,
        HTTPStatus(refusal.status).phrase.encode(),
        lines,
        body,
    )


class ReaderStalled(Exception):
    """The client has stopped reading; its answer is given up."""


class Response:
    """Begins once: either `send…` sends everything, or a stream begins with its first event."""

    def __init__(self, request: Request, send: Send) -> None:
        self._request, self._send = request, send
        self.has_begun = False
        self.is_stream = False

    async def send(
        self, status: int, body: bytes = b"", *headers: Header, content_type: bytes = JSON_TYPE
    ) -> None:
        """Send a whole answer. If the client is still sending, drain its body so that it can read the answer."""
        if self._request.has_body_to_drain:
            await self.start_body(status, len(body), content_type, *headers, *_CLOSE)
            await self._send({"type": "http.response.body", "body": body, "more_body": True})
            await self._request.drain_body()
            await self.end_body()
        else:
            await self.start_body(status, len(body), content_type, *headers)
            await self._send({"type": "http.response.body", "body": body})

    async def send_json(self, status: int, value: Any, *headers: Header) -> None:
        await self.send(status, msgspec.json.encode(value), *headers)

    async def send_refusal(self, refusal: errors.Refusal, *headers: Header) -> None:
        challenge = refusal.challenge or ("Bearer" if refusal.status == _UNAUTHENTICATED else "")
        details = [
            (header, str(refusal.details[name]).encode())
            for name, header in _DETAIL_HEADERS.items()
            if name in refusal.details
        ]
        if challenge:
            details.append((b"www-authenticate", challenge.encode()))
        body = mark_reply(msgspec.json.encode(refusal.to_dict()))
        await self.send(refusal.status, body, *details, *headers)

    async def start_body(self, status: int, length: int, content_type: bytes, *headers: Header) -> None:
        """Send the head of an answer whose body follows by `send_chunk` and `end_body`."""
        self.has_begun = True
        security = _SECURITY_HEADERS
        if headers:
            own = {name for name, _ in headers}
            security = tuple(header for header in security if header[0] not in own)
        head = [(b"content-type", content_type), (b"content-length", b"%d" % length), *security, *headers]
        await self._send({"type": "http.response.start", "status": status, "headers": head})

    async def send_chunk(self, chunk: bytes) -> None:
        limits = self._request.limits
        patience = limits.stalled_reader_seconds + len(chunk) / limits.bytes_per_second
        try:
            async with asyncio.timeout(patience):
                await self._send({"type": "http.response.body", "body": chunk, "more_body": True})
        except TimeoutError:
            raise ReaderStalled from None

    async def end_body(self) -> None:
        await self._send({"type": "http.response.body"})

    # Server-sent events

    async def send_event(self, message: bytes, kind: str = "message", number: int | None = None) -> None:
        """Send one event; `message` is JSON, which has no line break of its own."""
        position = b"" if number is None else b"id: %d\n" % number
        await self._send_frame(position + b"event: %s\ndata: %s\n\n" % (kind.encode(), message))

    async def send_comment(self, text: bytes = b"keep-alive") -> None:
        """Send a line that clients ignore, so that the connection stays open."""
        await self._send_frame(b": %s\n\n" % text)

    async def send_final(self, status: int, message: bytes, *headers: Header) -> None:
        """Send a whole answer, or the last event of a stream that has begun."""
        if not self.is_stream:
            await self.send(status, message, *headers)
            return
        await self.send_event(message)
        await self.end_body()

    async def end_unanswered(self) -> None:
        """End without a message: the client cancelled its request, or has left."""
        if self.is_stream:
            await self.end_body()
        else:
            await self.send(_ACCEPTED)

    async def _send_frame(self, frame: bytes) -> None:
        if not self.is_stream:
            self.has_begun = self.is_stream = True
            start = {"type": "http.response.start", "status": 200, "headers": list(_STREAM_HEADERS)}
            await self._send(start)
        await self.send_chunk(frame)

    async def run_watched(self, work: Coroutine[Any, Any, T]) -> T:
        """Run the work of this request. If it waits and its client goes away, stop it and raise ClientDisconnected."""
        with self.watch_client() as watch:
            result = await work
        if watch.stopped:
            raise ClientDisconnected
        return result

    def watch_client(self, *, at_once: bool = False) -> "ClientWatch":
        return ClientWatch(self._request, self, 0 if at_once else _UNWATCHED_SECONDS)


class ClientWatch:
    """Cancels the work inside when the client goes away or `stop` is called, and keeps its stream alive."""

    def __init__(self, request: Request, response: Response, unwatched_seconds: float) -> None:
        self.stopped = False
        self._request, self._response = request, response
        self._unwatched_seconds = unwatched_seconds
        self._watcher: asyncio.Task[None] | None = None

    def __enter__(self) -> Self:
        self._work = asyncio.current_task()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._unwatched_seconds, self._start_watching)
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

    def _start_watching(self) -> None:
        self._watcher = asyncio.create_task(self._watch_connection())

    async def _watch_connection(self) -> None:
        while True:
            try:
                async with asyncio.timeout(self._request.limits.keep_alive_seconds):
                    message = await self._request.receive()
            except TimeoutError:
                await self._keep_alive()
                continue
            if message["type"] == "http.disconnect":
                self.stop()
                return

    async def _keep_alive(self) -> None:
        if not self._response.is_stream:
            return
        try:
            await self._response.send_comment()
        except ReaderStalled:
            self.stop()
