"""The HTTP server below the edges: uvicorn, with the patience that it lacks for slow senders."""

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

_HEADER_SECONDS = 10.0
_KEEP_ALIVE_SECONDS = 75


class PatientProtocol(HttpToolsProtocol):
    """Closes a connection whose request's head does not arrive in time; uvicorn would wait for ever."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_came()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._deadline is None:
            self._expect_head()

    def on_headers_complete(self) -> None:
        self._head_came()
        super().on_headers_complete()

    def _expect_head(self) -> None:
        self._deadline = self.loop.call_later(_HEADER_SECONDS, self.transport.abort)

    def _head_came(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class Listener(uvicorn.Server):
    """Ends with exit code 0 on a signal, where uvicorn would raise it again; open streams end before it waits."""

    def __init__(
        self, config: uvicorn.Config, end_streams: Sequence[Callable[[], None]], idle_seconds: int
    ) -> None:
        super().__init__(config)
        self._end_streams = end_streams
        self._idle_seconds = idle_seconds
        self._needed = time.monotonic()

    async def on_tick(self, counter: int) -> bool:
        if self.server_state.connections:
            self._needed = time.monotonic()
        elif 0 < self._idle_seconds < time.monotonic() - self._needed:
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


def listening_socket(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if sys.platform == "linux":  # a client that vanished without a word is noticed
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 30_000)
    try:
        listening.bind((host, port))
    except OSError as taken:
        listening.close()
        raise errors.Unavailable(
            f"Cannot listen on {host}:{port} ({taken.strerror}).", hint="Choose another port with --port."
        ) from None
    return listening


async def serve(
    app: Any, listening: socket.socket, end_streams: Sequence[Callable[[], None]], idle_seconds: int = 0
) -> None:
    """Answer on the socket until a signal says to stop, or nobody was connected for so long (0: for ever)."""
    config = uvicorn.Config(
        app,
        http=PatientProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=10,
    )
    await Listener(config, end_streams, idle_seconds).serve(sockets=[listening])
