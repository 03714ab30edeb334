"""HTTP over plain sockets, for programs that must start fast: http.client and asyncio take ten times as long to import.

`send_request` sends one request; a `KeptConnection` carries several, with answers whole or as a stream of events.
Callers that mean an operation of our server use `server_link.py`.
"""

from __future__ import annotations

import contextlib
import io
import os
import select
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

_CONNECT_SECONDS: Final = 5.0
# Shorter than the server waits before it closes an idle connection.
_IDLE_SECONDS: Final = 60.0
_MAX_LINE_BYTES: Final = 64 * 1024
_MAX_BODY_BYTES: Final = 64 * 1024 * 1024
_KEEPALIVE_SECONDS: Final = 60


class ConnectionFailed(OSError):
    """Nothing was sent, so the request can be sent again."""


class ConnectionCut(OSError):
    """The connection ended before the answer did: the request may or may not have been carried out."""


class AnswerTimeout(ConnectionCut, TimeoutError):
    """The answer did not come in time; it may still come over `connection`."""

    connection: KeptConnection | None = None


class HttpAnswer(NamedTuple):
    status: int
    headers: dict[str, str]
    """By their names in lower case."""
    body: bytes


class StreamedAnswer:
    """The head of an answer. Its body is read from the connection, once."""

    def __init__(self, reader: io.BufferedReader[Any]) -> None:
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
        body = bytearray()
        for chunk in self._read_chunks():
            body += chunk
            if len(body) > _MAX_BODY_BYTES:
                raise ConnectionCut("its answer is too long")
        return bytes(body)

    def read_events(self) -> Iterator[bytes]:
        """The data of each event as it arrives; our server sends it in one line."""
        rest = b""
        for chunk in self._read_chunks():
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                if line.startswith(b"data:"):
                    yield line[5:].strip()

    def _read_chunks(self) -> Iterator[bytes]:
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            while size := int(self._read_line().partition(b";")[0], 16):
                yield self._read_exactly(size)
                self._read_line()
            while self._read_line():
                pass
        elif "content-length" not in self.headers and not self.keeps_connection:
            yield self._reader.read(_MAX_BODY_BYTES + 1)
        else:
            yield self._read_exactly(int(self.headers.get("content-length", "0")))

    def _read_line(self) -> bytes:
        line = self._reader.readline(_MAX_LINE_BYTES)
        if not line.endswith(b"\n"):
            raise ConnectionCut("the connection was cut")
        return line.rstrip(b"\r\n")

    def _read_exactly(self, size: int) -> bytes:
        content = self._reader.read(min(size, _MAX_BODY_BYTES + 1))
        if len(content) < size:
            raise ConnectionCut(
                "the connection was cut" if size <= _MAX_BODY_BYTES else "its answer is too long"
            )
        return content


class _SocketReader(io.RawIOBase):
    """Reads a socket until a deadline, however slowly the bytes come in."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.deadline: float | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self.deadline is not None:
            self._connection.settimeout(seconds_left(self.deadline))
        return self._connection.recv_into(buffer)


class KeptConnection:
    """A connection for one request at a time. Without `read_seconds` an answer has no time limit."""

    def __init__(
        self,
        url: str,
        read_seconds: float | None = None,
        connect_seconds: float = _CONNECT_SECONDS,
    ) -> None:
        self.url = url
        self.used_at = time.monotonic()
        try:
            self.socket = _open_socket(url, self.used_at + connect_seconds)
        except (OSError, ValueError) as error:
            raise ConnectionFailed(str(error)) from error
        self.socket.settimeout(read_seconds)
        self._raw = _SocketReader(self.socket)
        self._reader: io.BufferedReader[Any] = io.BufferedReader(self._raw)

    def send(self, request: bytes) -> StreamedAnswer:
        # A server that refuses a request may close before it has read all of it: its answer says why.
        with contextlib.suppress(OSError):
            self.socket.sendall(request)
        with cut_on_error():
            return StreamedAnswer(self._reader)

    def exchange(self, request: bytes) -> tuple[HttpAnswer, bool]:
        """The whole answer, and whether the connection can be used again."""
        answer = self.send(request)
        with cut_on_error():
            return HttpAnswer(answer.status, answer.headers, answer.read_body()), answer.keeps_connection

    def limit_seconds(self, seconds: float) -> None:
        """The whole of the next answer must arrive within this time."""
        self._raw.deadline = time.monotonic() + seconds
        self.socket.settimeout(max(seconds, 0.001))

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

    def take_idle(self, url: str) -> KeptConnection | None:
        while (connection := self._pop()) is not None:
            if connection.url == url and connection.is_reusable:
                return connection
            connection.close()
        return None

    def take(self, url: str) -> KeptConnection:
        return self.take_idle(url) or KeptConnection(url)

    def give_back(self, connection: KeptConnection, *, is_used: bool = True) -> None:
        if is_used:
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
    except ConnectionCut:
        raise
    except TimeoutError as error:
        raise AnswerTimeout("timed out") from error
    except (OSError, ValueError, IndexError) as error:
        raise ConnectionCut(str(error) or "the connection was cut") from error


def send_request(
    url: str, method: str, path: str, headers: Sequence[str], body: bytes, seconds: float
) -> HttpAnswer:
    """Send one request and read its answer; raises OSError if there is none within `seconds`."""
    request = build_request(url, method, path, [*headers, "Connection: close"], body)
    return send_repeatable(ConnectionPool(), url, request, seconds)


def send_repeatable(pool: ConnectionPool, url: str, request: bytes, seconds: float) -> HttpAnswer:
    """Send over a kept or a new connection, and if that is cut before the answer, once more over a new one.

    This is the policy of retries of all clients: a write carries an idempotency key, so it is carried out once.
    """
    deadline = time.monotonic() + seconds
    connection = pool.take_idle(url) or KeptConnection(url, connect_seconds=seconds)
    try:
        return _exchange(pool, connection, request, deadline)
    except AnswerTimeout:
        raise
    except ConnectionCut:
        connection = KeptConnection(url, connect_seconds=seconds_left(deadline))
        return _exchange(pool, connection, request, deadline)


def _exchange(
    pool: ConnectionPool, connection: KeptConnection, request: bytes, deadline: float
) -> HttpAnswer:
    connection.limit_seconds(seconds_left(deadline))
    try:
        answer, keeps_connection = connection.exchange(request)
    except AnswerTimeout as late:
        late.connection = connection
        raise
    except ConnectionCut:
        connection.close()
        raise
    if keeps_connection:
        pool.give_back(connection)
    else:
        connection.close()
    return answer


def build_request(url: str, method: str, path: str, headers: Sequence[str], body: bytes) -> bytes:
    """`path` is below the path of `url`; `headers` are whole lines."""
    authority, _, prefix = url.partition("://")[2].partition("/")
    first = f"{method} {'/' + prefix if prefix else ''}{path} HTTP/1.1"
    lines = [first, f"Host: {authority}", *headers, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode("ascii") + body


def split_authority(authority: str, default_port: int) -> tuple[str, int]:
    host, colon, port = authority.rpartition(":")
    if not colon or port.endswith("]"):
        host, port = authority, str(default_port)
    if not host or not port.isdecimal():
        raise ValueError(f"'{authority}' is not a host with a port")
    return host.strip("[]"), int(port)


def seconds_left(deadline: float) -> float:
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise TimeoutError("timed out")
    return seconds


def _open_socket(url: str, deadline: float) -> socket.socket:
    """A connection to the host of `url`, with TLS for https."""
    scheme, _, rest = url.partition("://")
    host, port = split_authority(rest.partition("/")[0], 443 if scheme == "https" else 80)
    connection = _connect_first(_resolve_host(host, port, deadline), deadline)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # Detects within a minute or two a peer that disappeared without closing the connection.
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_KEEPIDLE"):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _KEEPALIVE_SECONDS)
    if scheme != "https":
        return connection
    try:
        connection.settimeout(seconds_left(deadline))
        tls: socket.socket = _build_tls_context().wrap_socket(connection, server_hostname=host)
    except (OSError, ValueError):
        connection.close()
        raise
    return tls


def _build_tls_context() -> Any:
    """Trusts the system, SSL_CERT_FILE and SSL_CERT_DIR, and the team's own authority (`remote.find_ca_file`)."""
    import ssl  # slow to import, and most servers are on this machine

    from commonplace.client.link import remote

    ca_file = remote.find_ca_file()

    context = ssl.create_default_context()
    # OpenSSL reads the variables of this process, which need not be those of the program that asked it.
    file, folder = (os.environ.get(name) for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"))
    if file or folder:
        context.load_verify_locations(file or None, folder or None)
    if ca_file:
        try:
            context.load_verify_locations(ca_file)
        except OSError as error:
            raise ValueError(f"the certificates in {ca_file} cannot be read: {error}") from None
    return context


def _resolve_host(host: str, port: int, deadline: float) -> list[Any]:
    """The addresses of a host. A name is resolved in a thread, because a name server may hang past the deadline."""
    if host == "localhost" or not any(letter.isalpha() for letter in host.partition(":")[0]):
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    results: list[Any] = []

    def resolve() -> None:
        try:
            results.append(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except OSError as error:
            results.append(error)

    thread = threading.Thread(target=resolve, daemon=True)
    thread.start()
    thread.join(seconds_left(deadline))
    if not results:
        raise TimeoutError("its name was not resolved in time")
    if isinstance(results[0], OSError):
        raise results[0]
    addresses: list[Any] = results[0]
    return addresses


def _connect_first(addresses: list[Any], deadline: float) -> socket.socket:
    """The first address that answers; all of them share the deadline."""
    failure: OSError = OSError("it has no address")
    for family, kind, protocol, _, address in addresses:
        connection = socket.socket(family, kind, protocol)
        try:
            connection.settimeout(seconds_left(deadline))
            connection.connect(address)
        except OSError as error:
            connection.close()
            failure = error
        else:
            return connection
    raise failure
