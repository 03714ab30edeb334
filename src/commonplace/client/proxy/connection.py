"""HTTP as the proxy needs it: connections that are kept, answers whole or as events while they come."""

import contextlib
import io
import select
import socket
import threading
import time
from collections.abc import Iterator
from typing import Final

from commonplace.client import reach

_CONNECT_SECONDS: Final = 5.0
# Less than the server waits before it closes a connection that nobody uses.
_KEPT_SECONDS: Final = 60.0
_LONGEST_LINE: Final = 64 * 1024
_SILENCE_SECONDS: Final = 60


class Unreached(Exception):  # noqa: N818 - a state of the world, not a fault of ours
    """Nothing was sent: what was to be asked can be asked again."""


class Cut(Exception):  # noqa: N818 - as above
    """The connection ended before the answer did: nobody knows what was done."""


class Answer:
    """The head of an answer; its body is read where it lies, once."""

    def __init__(self, reader: io.BufferedReader) -> None:
        self._reader = reader
        self.status = int(self._line().split(b" ", 2)[1])
        self.headers: dict[str, str] = {}
        while line := self._line():
            name, _, value = line.decode("latin-1").partition(":")
            self.headers[name.lower()] = value.strip()

    @property
    def streams(self) -> bool:
        return self.headers.get("content-type", "").startswith("text/event-stream")

    @property
    def keeps(self) -> bool:
        return self.headers.get("connection", "").lower() != "close"

    def body(self) -> bytes:
        return b"".join(self._parts())

    def events(self) -> Iterator[bytes]:
        """What each event says, as it comes; our server says it in one line."""
        rest = b""
        for part in self._parts():
            *lines, rest = (rest + part).split(b"\n")
            for line in lines:
                if line.startswith(b"data:"):
                    yield line[5:].strip()

    def _parts(self) -> Iterator[bytes]:
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            yield self._exactly(int(self.headers.get("content-length", "0")))
            return
        while size := int(self._line().partition(b";")[0], 16):
            yield self._exactly(size)
            self._line()
        while self._line():
            pass

    def _line(self) -> bytes:
        line = self._reader.readline(_LONGEST_LINE)
        if not line.endswith(b"\n"):
            raise Cut
        return line.rstrip(b"\r\n")

    def _exactly(self, size: int) -> bytes:
        part = self._reader.read(size)
        if len(part) < size:
            raise Cut
        return part


class Connection:
    """One request at a time."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.used = time.monotonic()
        try:
            self._socket = reach.connected(url, self.used + _CONNECT_SECONDS)
        except (OSError, ValueError) as away:
            raise Unreached(str(away)) from None
        self._socket.settimeout(None)
        _notice_a_silent_death(self._socket)
        self._reader = self._socket.makefile("rb")

    def ask(self, request: bytes) -> Answer:
        # A server that refuses a request may close before it has read all of it: its answer says why.
        with contextlib.suppress(OSError):
            self._socket.sendall(request)
        with broken_off():
            return Answer(self._reader)

    def cut(self) -> None:
        """From another thread: whoever reads here is told that it is over."""
        with contextlib.suppress(OSError):
            # Past any TLS, whose own shutdown is not made for two threads.
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._reader.close()
            self._socket.close()

    @property
    def fresh(self) -> bool:
        """Whether the other side still waits for a request: it neither closed nor said anything."""
        idle = time.monotonic() - self.used
        return idle < _KEPT_SECONDS and not select.select([self._socket], [], [], 0)[0]


class Connections:
    """Those that wait for the next request, the last used first."""

    def __init__(self) -> None:
        self._idle: list[Connection] = []
        self._lock = threading.Lock()

    def take(self, url: str) -> Connection:
        while (kept := self._pop()) is not None:
            if kept.url == url and kept.fresh:
                return kept
            kept.close()
        return Connection(url)

    def give(self, connection: Connection) -> None:
        connection.used = time.monotonic()
        with self._lock:
            self._idle.append(connection)

    def close(self) -> None:
        while (kept := self._pop()) is not None:
            kept.close()

    def _pop(self) -> Connection | None:
        with self._lock:
            return self._idle.pop() if self._idle else None


@contextlib.contextmanager
def broken_off() -> Iterator[None]:
    """Whatever goes wrong while an answer is read means that it was cut."""
    try:
        yield
    except (OSError, ValueError, IndexError):
        raise Cut from None


def _notice_a_silent_death(connection: socket.socket) -> None:
    """A machine that vanished without a word is noticed after a minute or two."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_KEEPIDLE"):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _SILENCE_SECONDS)
