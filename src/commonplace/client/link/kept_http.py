"""HTTP connections that are kept for further requests, with answers whole or as a stream of events.

For the proxy and the uploader. Plain sockets, because http.client and asyncio take ten times as long to import. A
single request is simpler with `light_http.py`.
"""

import contextlib
import io
import select
import socket
import threading
import time
from collections.abc import Iterator
from typing import Final

from commonplace.client.link import light_http

_CONNECT_SECONDS: Final = 5.0
# Shorter than the server waits before it closes an idle connection.
_IDLE_SECONDS: Final = 60.0
_MAX_LINE_BYTES: Final = 64 * 1024
_KEEPALIVE_SECONDS: Final = 60


class ConnectionFailed(Exception):
    """Nothing was sent, so the request can be sent again."""


class ConnectionCut(Exception):
    """The connection ended before the answer did: the request may or may not have been carried out."""


class StreamedAnswer:
    """The head of an answer. Its body is read from the connection, once."""

    def __init__(self, reader: io.BufferedReader) -> None:
        self._reader = reader
        self.status = int(self._read_line().split(b" ", 2)[1])
        self.headers: dict[str, str] = {}
        while line := self._read_line():
            name, _, value = line.decode("latin-1").partition(":")
            self.headers[name.lower()] = value.strip()

    @property
    def is_event_stream(self) -> bool:
        return self.headers.get("content-type", "").startswith("text/event-stream")

    @property
    def keeps_connection(self) -> bool:
        return self.headers.get("connection", "").lower() != "close"

    def read_body(self) -> bytes:
        return b"".join(self._read_chunks())

    def read_events(self) -> Iterator[bytes]:
        """The data of each event as it arrives; our server sends it in one line."""
        rest = b""
        for chunk in self._read_chunks():
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                if line.startswith(b"data:"):
                    yield line[5:].strip()

    def _read_chunks(self) -> Iterator[bytes]:
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            yield self._read_plain_body()
            return
        while size := int(self._read_line().partition(b";")[0], 16):
            yield self._read_exactly(size)
            self._read_line()
        while self._read_line():
            pass

    def _read_plain_body(self) -> bytes:
        if "content-length" not in self.headers and not self.keeps_connection:
            return self._reader.read()
        return self._read_exactly(int(self.headers.get("content-length", "0")))

    def _read_line(self) -> bytes:
        line = self._reader.readline(_MAX_LINE_BYTES)
        if not line.endswith(b"\n"):
            raise ConnectionCut("the connection was cut")
        return line.rstrip(b"\r\n")

    def _read_exactly(self, size: int) -> bytes:
        content = self._reader.read(size)
        if len(content) < size:
            raise ConnectionCut("the connection was cut")
        return content


class KeptConnection:
    """A connection for one request at a time. Without `read_seconds` an answer has no time limit."""

    def __init__(
        self,
        url: str,
        read_seconds: float | None = None,
        connect_seconds: float = _CONNECT_SECONDS,
        ca_file: str | None = None,
    ) -> None:
        self.url = url
        self.used_at = time.monotonic()
        try:
            self.socket = light_http.open_socket(url, self.used_at + connect_seconds, ca_file)
        except (OSError, ValueError) as error:
            raise ConnectionFailed(str(error)) from error
        self.socket.settimeout(read_seconds)
        _enable_keepalive(self.socket)
        self._reader = self.socket.makefile("rb")

    def send(self, request: bytes) -> StreamedAnswer:
        # A server that refuses a request may close before it has read all of it: its answer says why.
        with contextlib.suppress(OSError):
            self.socket.sendall(request)
        with cut_on_error():
            return StreamedAnswer(self._reader)

    def limit_seconds(self, seconds: float | None) -> None:
        """Wait at most this long for the next bytes of an answer."""
        self.socket.settimeout(seconds)

    def cut(self) -> None:
        """End the answer that another thread is reading."""
        with contextlib.suppress(OSError):
            # Past any TLS, whose own shutdown is not made for two threads.
            socket.socket.shutdown(self.socket, socket.SHUT_RDWR)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._reader.close()
            self.socket.close()

    @property
    def is_reusable(self) -> bool:
        """Whether the server still waits for a request: it has neither closed nor sent anything."""
        idle_seconds = time.monotonic() - self.used_at
        return idle_seconds < _IDLE_SECONDS and not select.select([self.socket], [], [], 0)[0]


class ConnectionPool:
    """Idle connections, the last used first."""

    def __init__(self) -> None:
        self._idle: list[KeptConnection] = []
        self._lock = threading.Lock()

    def take(self, url: str) -> KeptConnection:
        while (connection := self._pop()) is not None:
            if connection.url == url and connection.is_reusable:
                return connection
            connection.close()
        return KeptConnection(url)

    def give_back(self, connection: KeptConnection) -> None:
        connection.used_at = time.monotonic()
        with self._lock:
            self._idle.append(connection)

    def close(self) -> None:
        while (connection := self._pop()) is not None:
            connection.close()

    def _pop(self) -> KeptConnection | None:
        with self._lock:
            return self._idle.pop() if self._idle else None


@contextlib.contextmanager
def cut_on_error() -> Iterator[None]:
    """Raise ConnectionCut for any failure while an answer is read."""
    try:
        yield
    except (OSError, ValueError, IndexError) as error:
        raise ConnectionCut(str(error)) from error


def _enable_keepalive(connection: socket.socket) -> None:
    """Detect within a minute or two a peer that disappeared without closing the connection."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_KEEPIDLE"):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _KEEPALIVE_SECONDS)
