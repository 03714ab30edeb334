"""The HTTP server below every route: uvicorn, with bounds for the head of a request and an orderly end.

It knows sockets and signals, not requests: those begin in router.py.
"""

import asyncio
import contextlib
import signal
import socket
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from commonplace import errors
from commonplace.edges.http.refusals import HeadTooLarge, MalformedRequest
from commonplace.edges.http.response import encode_refusal

_HEAD_SECONDS = 10.0
_HEAD_BYTES = 32 * 1024
_HEAD_FIELDS = 100
_KEEP_ALIVE_SECONDS = 75
_MALFORMED_HINT = "Use http://, not https://, and percent-encode the address, such as b%C3%BCro."
MAX_REQUESTS_PER_TURN = 32
_PROBE_PATHS = frozenset({"/live", "/ready", "/health"})


class RequestTurns:
    """Starts a bounded number of requests in each turn of the event loop: between turns it reads what has arrived.

    Otherwise hundreds of requests that arrive at once run to their end before the next probe is read.
    """

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()
        self._started = 0

    def start(self, loop: asyncio.AbstractEventLoop, start_request: Callable[[], None]) -> None:
        if self._started >= MAX_REQUESTS_PER_TURN:
            self._waiting.append(start_request)
            return
        if self._started == 0:
            loop.call_soon(self._begin_turn, loop)
        self._started += 1
        start_request()

    def _begin_turn(self, loop: asyncio.AbstractEventLoop) -> None:
        self._started = 0
        for _ in range(min(len(self._waiting), MAX_REQUESTS_PER_TURN)):
            self.start(loop, self._waiting.popleft())


_turns_by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, RequestTurns] = WeakKeyDictionary()


class BoundedHeadProtocol(HttpToolsProtocol):
    """Bounds the head of a request in time, bytes and fields; uvicorn would wait and collect forever.

    Trailers after a chunked body are bounded in the same way: what counts are bytes in which nothing was completed.
    """

    _head_timer: asyncio.TimerHandle | None = None
    _pending_bytes = 0
    _is_in_head = False
    _refusal: errors.Refusal | None = None

    def data_received(self, data: bytes) -> None:
        for start in range(0, len(data), _HEAD_BYTES):
            if self.transport.is_closing():
                return
            piece = data[start : start + _HEAD_BYTES]
            self._pending_bytes += len(piece)
            super().data_received(piece)
            if self._is_in_head and self._head_timer is None:
                self._start_head_timer()  # most heads arrive whole and need none
            if self._pending_bytes > _HEAD_BYTES and not self.transport.is_closing():
                self._refusal = HeadTooLarge(hint=f"Send a head of at most {_HEAD_BYTES} bytes.")
                self.send_400_response("")

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        if len(self.headers) > _HEAD_FIELDS:
            self._refusal = HeadTooLarge(hint=f"Send at most {_HEAD_FIELDS} header fields.")
            raise self._refusal  # ends the parser, which calls send_400_response

    def on_body(self, body: bytes) -> None:
        self._pending_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._pending_bytes = 0
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse in the one shape of refusals; what was sent before an answer began is not repeated."""
        refusal = self._refusal or MalformedRequest(msg or None, hint=_MALFORMED_HINT)
        self.transport.write(encode_refusal(refusal))
        self.transport.close()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        super().connection_made(transport)
        self._turns = _turns_by_loop.setdefault(self.loop, RequestTurns())
        self._start_head_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_head_timer()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        self._is_in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._is_in_head = False
        self._pending_bytes = 0
        if self._head_timer is not None:
            self._cancel_head_timer()
        super().on_headers_complete()

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        """Answer probes at once: behind hundreds of callers a task would wait for a turn of the event loop."""
        if cycle.scope["http_version"] == "1.0":
            app = partial(_answer_without_chunks, cycle, app)
        if (
            cycle.scope["path"] not in _PROBE_PATHS
            or cycle.scope["method"] != "GET"
            or self.flow.write_paused
        ):
            self._turns.start(self.loop, partial(super()._start_asgi_task, cycle, app))
            return
        answering = cycle.run_asgi(app)
        try:
            answering.send(None)
        except StopIteration:
            return
        answering.close()
        raise RuntimeError("a probe awaits nothing")

    def _start_head_timer(self) -> None:
        self._head_timer = self.loop.call_later(_HEAD_SECONDS, self.transport.abort)

    def _cancel_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


async def _answer_without_chunks(cycle: Any, app: Any, scope: Any, receive: Any, _send: Any) -> None:
    """HTTP/1.0 has no chunks: there the end of the connection ends a body of unknown length. uvicorn would send chunks."""

    async def send_as_is(message: Any) -> None:
        cycle.chunked_encoding = False
        cycle.expected_content_length = (
            sys.maxsize if message.get("more_body") else len(message.get("body", b""))
        )
        await cycle.send(message)

    await app(scope, receive, send_as_is)


class HttpListener(uvicorn.Server):
    """Exits with code 0 on a signal, which uvicorn would raise again, and ends open streams before it waits."""

    def __init__(
        self, config: uvicorn.Config, end_streams: Sequence[Callable[[], None]], idle_seconds: int
    ) -> None:
        super().__init__(config)
        self._end_streams = end_streams
        self._idle_seconds = idle_seconds
        self._last_used = time.monotonic()

    async def on_tick(self, counter: int) -> bool:
        if self.server_state.connections:
            self._last_used = time.monotonic()
        elif 0 < self._idle_seconds < time.monotonic() - self._last_used:
            return True
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for end in self._end_streams:
            end()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(NotImplementedError):
                loop.add_signal_handler(number, self.handle_exit, number, None)
        yield


def open_socket(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    opened = socket.socket(family)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if sys.platform == "linux":  # notice a client that vanished without closing
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 30_000)
    try:
        opened.bind((host, port))
    except OSError as error:
        opened.close()
        raise errors.Unavailable(
            f"Cannot listen on {host}:{port} ({error.strerror}).", hint="Choose another port with --port."
        ) from None
    return opened


async def serve(
    app: Any, listening: socket.socket, end_streams: Sequence[Callable[[], None]], idle_seconds: int = 0
) -> None:
    """Answer on the socket until a signal, or until nobody was connected for `idle_seconds` (0: forever)."""
    config = uvicorn.Config(
        app,
        http=BoundedHeadProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=10,
    )
    await HttpListener(config, end_streams, idle_seconds).serve(sockets=[listening])
