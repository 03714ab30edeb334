"""The HTTP server below every route: uvicorn, with a deadline for the head of a request and an orderly end.

It knows sockets and signals, not requests: those begin in router.py.
"""

import asyncio
import contextlib
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from commonplace import errors

_HEAD_SECONDS = 10.0
_KEEP_ALIVE_SECONDS = 75


class DeadlineProtocol(HttpToolsProtocol):
    """Closes a connection whose request head does not arrive in time; uvicorn would wait forever."""

    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        super().connection_made(transport)
        self._start_head_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_head_timer()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._head_timer is None:
            self._start_head_timer()

    def on_headers_complete(self) -> None:
        self._cancel_head_timer()
        super().on_headers_complete()

    def _start_head_timer(self) -> None:
        self._head_timer = self.loop.call_later(_HEAD_SECONDS, self.transport.abort)

    def _cancel_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


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
        http=DeadlineProtocol,
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
