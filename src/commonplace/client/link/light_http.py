"""One HTTP request over a plain socket, for programs that must start fast.

A hook runs before every edit, so this imports no HTTP library, and TLS only where the address asks for it. Requests
that share a connection, or whose answer is a stream, use `kept_http.py`. Callers usually want `remote.call_operation`.
"""

import socket
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

_MAX_ANSWER_BYTES = 16 * 1024 * 1024
_CHUNK_BYTES = 65536


class HttpAnswer(NamedTuple):
    status: int
    head: bytes
    body: bytes

    def header(self, name: str) -> str:
        """The value of a header; empty if it is missing."""
        for line in self.head.split(b"\r\n")[1:]:
            key, _, value = line.decode("latin-1").partition(":")
            if key.strip().lower() == name.lower():
                return value.strip()
        return ""


def send_request(
    url: str, method: str, path: str, headers: Sequence[str], body: bytes, seconds: float
) -> HttpAnswer:
    """Send one request and read its answer; raises OSError or ValueError if there is none within `seconds`."""
    deadline = time.monotonic() + seconds
    with open_socket(url, deadline) as connection:
        connection.sendall(build_request(url, method, path, headers, body, "HTTP/1.0"))
        return read_answer(connection, deadline)


def build_request(
    url: str, method: str, path: str, headers: Sequence[str], body: bytes, version: str = "HTTP/1.1"
) -> bytes:
    """`path` is below the path of `url`; `headers` are whole lines."""
    _, _, rest = url.partition("://")
    authority, _, prefix = rest.partition("/")
    first = f"{method} {'/' + prefix if prefix else ''}{path} {version}"
    lines = [first, f"Host: {authority}", *headers, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode("ascii") + body


def open_socket(url: str, deadline: float, ca_file: str | None = None) -> socket.socket:
    """A connection to the host of `url`, with TLS for https; without `ca_file` the settings say whom to trust."""
    scheme, _, rest = url.partition("://")
    host, port = split_authority(rest.partition("/")[0], 443 if scheme == "https" else 80)
    connection = _connect_first(_resolve_host(host, port, deadline), deadline)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if scheme != "https":
        return connection
    from commonplace.client.link import remote, tls_trust  # plain HTTP needs no TLS, which is slow to import

    context = tls_trust.build_tls_context(remote.find_ca_file() if ca_file is None else ca_file)
    connection.settimeout(_seconds_left(deadline))
    try:
        return context.wrap_socket(connection, server_hostname=host)
    except OSError:
        connection.close()
        raise


def split_authority(authority: str, default_port: int) -> tuple[str, int]:
    host, colon, port = authority.rpartition(":")
    if not colon or port.endswith("]"):
        host, port = authority, str(default_port)
    if not host or not port.isdecimal():
        raise ValueError(f"'{authority}' is not a host with a port")
    return host.strip("[]"), int(port)


def _resolve_host(host: str, port: int, deadline: float) -> list[Any]:
    """The addresses of a host. A name is resolved in a thread, because a name server may hang past the deadline."""
    if host == "localhost" or not any(letter.isalpha() for letter in host.partition(":")[0]):
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    import threading  # a numeric address needs no thread

    results: list[Any] = []

    def resolve() -> None:
        try:
            results.append(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except OSError as error:
            results.append(error)

    thread = threading.Thread(target=resolve, daemon=True)
    thread.start()
    thread.join(_seconds_left(deadline))
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
            connection.settimeout(_seconds_left(deadline))
            connection.connect(address)
        except OSError as error:
            connection.close()
            failure = error
        else:
            return connection
    raise failure


def read_answer(connection: socket.socket, deadline: float) -> HttpAnswer:
    """HTTP/1.0 ends an answer by closing: read everything until then, bounded in bytes and time."""
    received = bytearray()
    while True:
        connection.settimeout(_seconds_left(deadline))
        chunk = connection.recv(_CHUNK_BYTES)
        if not chunk:
            break
        received += chunk
        if len(received) > _MAX_ANSWER_BYTES:
            raise ValueError("its answer is too long")
    head, _, body = bytes(received).partition(b"\r\n\r\n")
    parts = head.split(b" ", 2)
    if len(parts) < 2:  # noqa: PLR2004 - version and status
        raise ValueError("it closed the connection without an answer")
    return HttpAnswer(int(parts[1]), head, body)


def _seconds_left(deadline: float) -> float:
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise TimeoutError("it took too long")
    return seconds
