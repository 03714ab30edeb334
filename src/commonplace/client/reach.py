"""Which server the commands of this machine speak to, and one small call to it.

A hook runs before every edit, so this imports little: no HTTP library, TLS only where the address asks for it.
"""

import json
import os
import socket
import time
from pathlib import Path
from typing import Any, NamedTuple

_LARGEST = 16 * 1024 * 1024


class Away(Exception):  # noqa: N818 - a state of the world, not a fault of ours
    """No server answers."""


class Refused(Exception):  # noqa: N818 - an answer, not a fault
    """The server said no."""

    def __init__(self, status: int, body: dict[str, Any]) -> None:
        super().__init__(body.get("message") or f"The server answered {status}.")
        self.status, self.body = status, body

    @property
    def code(self) -> str:
        return str(self.body.get("error", ""))


class Server(NamedTuple):
    """No dataclass: what those import would double the time that importing this takes."""

    url: str
    key: str = ""

    def __repr__(self) -> str:
        return f"Server(url={self.url!r})"


def home() -> Path:
    """Where the client side keeps its state."""
    return Path(os.environ.get("COMMONPLACE_HOME") or "~/.commonplace").expanduser()


def configuration() -> dict[str, Any]:
    """What ~/.commonplace/config.toml says; nothing when there is none."""
    try:
        text = (home() / "config.toml").read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    import tomllib  # noqa: PLC0415 - most hooks run without a configuration

    return tomllib.loads(text)


def server(whose: str = "key") -> Server | None:
    """The server of this machine's agents, with their key (`sync_token`: the sync client's)."""
    configured = configuration()
    url = where(configured)
    return Server(url, secret(whose, entrusted(url, configured))) if url else None


def where(configured: dict[str, Any]) -> str:
    """COMMONPLACE_URL first, then config.toml, then the server that runs on this machine's data folder."""
    url = os.environ.get("COMMONPLACE_URL") or configured.get("url") or beacon(folder()).get("url")
    return address(str(url)) if url else ""


def entrusted(url: str, configured: dict[str, Any]) -> dict[str, Any]:
    """config.toml for this server; nothing if it names another one, whose tokens are nobody else's business."""
    named = configured.get("url")
    return configured if not named or address(str(named)) == url else {}


def address(url: str) -> str:
    """A server's address as all of them are kept: /mcp is only one of its doors."""
    return url.strip().rstrip("/").removesuffix("/mcp").rstrip("/")


def checked(url: str) -> str:
    """The same, of one that somebody gave: it says how and where to."""
    plain = address(url)
    scheme, _, rest = plain.partition("://")
    written = plain.isascii() and plain.isprintable() and " " not in plain
    if scheme not in {"http", "https"} or not rest.partition("/")[0] or not written:
        raise ValueError(f"'{url}' is not the address of a server: it starts with http:// or https://")
    _split(rest.partition("/")[0], 0)
    return plain


def post(
    server: Server, operation: str, arguments: dict[str, Any], seconds: float, agent: str = ""
) -> dict[str, Any]:
    """Call one operation; `seconds` bound all of it."""
    return request(server, "POST", f"/api/{operation}", json.dumps(arguments).encode(), seconds, agent)


def request(
    server: Server, method: str, path: str, body: bytes, seconds: float, agent: str = ""
) -> dict[str, Any]:
    until = time.monotonic() + seconds
    try:
        with connected(server.url, until) as connection:
            connection.sendall(_head(server, method, path, len(body), agent) + body)
            status, answer = _answer(connection, until)
    except (OSError, ValueError) as away:
        raise Away(f"No server answers at {server.url} ({away}).") from None
    if status != 200:  # noqa: PLR2004 - the protocol's own number
        raise Refused(status, answer)
    return answer


def folder() -> Path:
    """The data folder of this machine's server."""
    if given := os.environ.get("COMMONPLACE_DATA"):
        return Path(given).expanduser().absolute()
    import platformdirs  # noqa: PLC0415 - only where nothing says more

    return Path(platformdirs.user_data_dir("commonplace", appauthor=False))


def beacon(folder: Path) -> dict[str, Any]:
    """What the server of a data folder says of itself while it runs; nothing when none does."""
    try:
        lit = json.loads((folder / "server.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return lit if isinstance(lit, dict) else {}


def secret(name: str, configured: dict[str, Any]) -> str:
    """A token by its reference: `env:NAME` or `file:PATH`; the environment's own variable first."""
    variable = {"key": "COMMONPLACE_KEY", "sync_token": "SYNC_TOKEN"}[name]
    if os.environ.get(variable):
        return os.environ[variable]
    kind, _, place = str(configured.get(name, "")).partition(":")
    if kind == "env":
        return os.environ.get(place, "")
    if kind == "file":
        return Path(place).expanduser().read_text(encoding="utf-8").strip()
    return ""


def connected(url: str, until: float) -> socket.socket:
    scheme, _, rest = url.partition("://")
    authority = rest.partition("/")[0]
    host, port = _split(authority, 443 if scheme == "https" else 80)
    connection = _opened(_resolved(host, port, until), until)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if scheme != "https":
        return connection
    import ssl  # noqa: PLC0415 - a tenth of a second that plain loopback need not pay

    return ssl.create_default_context().wrap_socket(connection, server_hostname=host)


def _resolved(host: str, port: int, until: float) -> list[Any]:
    """The addresses of a name; whoever answers for names may hang for longer than anybody wants to wait."""
    if host == "localhost" or not any(letter.isalpha() for letter in host.partition(":")[0]):
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    import threading  # noqa: PLC0415 - an address in digits needs nobody

    found: list[Any] = []

    def ask() -> None:
        try:
            found.append(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except OSError as wrong:
            found.append(wrong)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(_left(until))
    if not found:
        raise TimeoutError("its name was not found in time")
    if isinstance(found[0], OSError):
        raise found[0]
    addresses: list[Any] = found[0]
    return addresses


def _opened(addresses: list[Any], until: float) -> socket.socket:
    """The first address that answers; all of them together within the time."""
    failed: OSError = OSError("it has no address")
    for family, kind, protocol, _, place in addresses:
        connection = socket.socket(family, kind, protocol)
        try:
            connection.settimeout(_left(until))
            connection.connect(place)
        except OSError as wrong:
            connection.close()
            failed = wrong
        else:
            return connection
    raise failed


def _split(authority: str, port: int) -> tuple[str, int]:
    host, colon, given = authority.rpartition(":")
    if not colon or given.endswith("]"):
        host, given = authority, str(port)
    if not host or not given.isdecimal():
        raise ValueError(f"'{authority}' is no host with a port")
    return host.strip("[]"), int(given)


def _head(server: Server, method: str, path: str, length: int, agent: str) -> bytes:
    _, _, rest = server.url.partition("://")
    authority, _, prefix = rest.partition("/")
    lines = [f"{method} {'/' + prefix if prefix else ''}{path} HTTP/1.0", f"Host: {authority}"]
    lines += ["Content-Type: application/json", f"Content-Length: {length}"]
    lines += [f"Authorization: Bearer {server.key}"] if server.key else []
    lines += [f"X-Agent-Id: {agent}"] if agent else []
    return "\r\n".join([*lines, "", ""]).encode("ascii")


def _answer(connection: socket.socket, until: float) -> tuple[int, dict[str, Any]]:
    """HTTP/1.0 ends an answer by closing: everything until then, bounded in bytes and time."""
    received = bytearray()
    while True:
        connection.settimeout(_left(until))
        part = connection.recv(65536)
        if not part:
            break
        received += part
        if len(received) > _LARGEST:
            raise ValueError("its answer is too long")
    head, _, body = bytes(received).partition(b"\r\n\r\n")
    answer = json.loads(body)
    return int(head.split(b" ", 2)[1]), answer if isinstance(answer, dict) else {}


def _left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError("it took too long")
    return left
