"""The clients' way to the server: find its address and key, and call an operation.

The address is COMMONPLACE_URL, else `url` in config.toml, else the server that runs on this machine's data folder
(`beacon.py`). Everything in `client/` reaches the server through here, over one of two HTTP clients: `light_http.py`
for single requests, `kept_http.py` for connections that are kept.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from commonplace.beacon import read_beacon
from commonplace.client import light_http

_OK = 200
_SECRET_VARIABLES = {"key": "COMMONPLACE_KEY", "sync_token": "SYNC_TOKEN"}


class ServerUnreachable(Exception):  # noqa: N818 - a state of the world, not a fault of ours
    """No server answers."""


class ServerRefusal(Exception):  # noqa: N818 - an answer, not a fault
    """The server refused the call."""

    def __init__(self, status: int, body: dict[str, Any]) -> None:
        super().__init__(body.get("message") or f"The server answered {status}.")
        self.status, self.body = status, body

    @property
    def code(self) -> str:
        return str(self.body.get("error", ""))

    @property
    def hint(self) -> str:
        return str(self.body.get("hint") or "")


class RemoteServer(NamedTuple):
    """Not a dataclass: importing those would double the time that importing this module takes."""

    url: str
    key: str = ""
    mcp_view: str = ""
    """What follows /mcp in the address that agents are given, such as `/x/core`."""

    @property
    def mcp_path(self) -> str:
        return f"/mcp{self.mcp_view}"

    @property
    def mcp_url(self) -> str:
        return f"{self.url}{self.mcp_path}"

    def __repr__(self) -> str:
        return f"RemoteServer(url={self.url!r})"

    def authorization(self) -> list[str]:
        """The header line with the key, if there is one."""
        return [f"Authorization: Bearer {self.key}"] if self.key else []


def client_home() -> Path:
    """The folder of client state: COMMONPLACE_HOME, else ~/.commonplace."""
    return Path(os.environ.get("COMMONPLACE_HOME") or "~/.commonplace").expanduser()


def read_configuration() -> dict[str, Any]:
    """config.toml in the client's folder; empty if there is none."""
    try:
        text = (client_home() / "config.toml").read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    import tomllib  # noqa: PLC0415 - most hooks run without a configuration

    return tomllib.loads(text)


def find_server(credential: str = "key") -> RemoteServer | None:
    """The server of this machine's agents with their key, or with the uploader's (`sync_token`)."""
    configured = read_configuration()
    url = find_server_url(configured)
    return RemoteServer(url, read_secret(credential, configuration_for(url, configured))) if url else None


def find_server_url(configured: dict[str, Any]) -> str:
    url = (
        os.environ.get("COMMONPLACE_URL")
        or configured.get("url")
        or read_beacon(default_data_folder()).get("url")
    )
    return normalize_url(str(url)) if url else ""


def configuration_for(url: str, configured: dict[str, Any]) -> dict[str, Any]:
    """config.toml, or nothing if it names another server: its tokens are only for the server it names."""
    named = configured.get("url")
    return configured if not named or normalize_url(str(named)) == url else {}


def normalize_url(url: str) -> str:
    """A server's address without a trailing slash, and without /mcp and what follows it."""
    return _split_mcp_url(url)[0]


def mcp_view_of_url(url: str) -> str:
    """What follows /mcp: `/x/core` of http://127.0.0.1:8080/mcp/x/core; empty for the server's own address."""
    return _split_mcp_url(url)[1]


def _split_mcp_url(url: str) -> tuple[str, str]:
    scheme, separator, rest = url.strip().partition("://")
    authority, _, path = rest.partition("/")
    path, _, view = f"/{path}/".partition("/mcp/")
    view = view.strip("/")
    return f"{scheme}{separator}{authority}{path}".rstrip("/"), f"/{view}" if view else ""


def validate_url(url: str) -> str:
    """The normalized address; ValueError unless it is an http or https address."""
    plain = normalize_url(url)
    scheme, _, rest = plain.partition("://")
    is_printable = plain.isascii() and plain.isprintable() and " " not in plain
    if scheme not in {"http", "https"} or not rest.partition("/")[0] or not is_printable:
        raise ValueError(f"'{url}' is not the address of a server: it must start with http:// or https://")
    light_http.split_authority(rest.partition("/")[0], 0)
    return plain


def read_secret(name: str, configured: dict[str, Any]) -> str:
    """A token: from its variable, else as config.toml refers to it with `env:NAME` or `file:PATH`."""
    return os.environ.get(_SECRET_VARIABLES[name]) or read_configured_secret(name, configured)


def read_configured_secret(name: str, configured: dict[str, Any]) -> str:
    """A token as config.toml refers to it; raises OSError if its file cannot be read."""
    kind, _, reference = str(configured.get(name, "")).partition(":")
    if kind == "env":
        return os.environ.get(reference, "")
    if kind == "file":
        return Path(reference).expanduser().read_text(encoding="utf-8").strip()
    return ""


def default_data_folder() -> Path:
    """The data folder of this machine's server: COMMONPLACE_DATA, else the platform's."""
    if folder := os.environ.get("COMMONPLACE_DATA"):
        return Path(folder).expanduser().absolute()
    import platformdirs  # noqa: PLC0415 - only needed without COMMONPLACE_DATA

    return Path(platformdirs.user_data_dir("commonplace", appauthor=False))


def call_operation(
    server: RemoteServer,
    operation: str,
    arguments: dict[str, Any],
    seconds: float,
    agent: str = "",
    headers: Sequence[str] = (),
) -> dict[str, Any]:
    """Call one operation within `seconds`; raises ServerUnreachable or ServerRefusal."""
    lines = ["Content-Type: application/json", *server.authorization(), *headers]
    lines += [f"X-Agent-Id: {agent}"] if agent else []
    body = json.dumps(arguments).encode()
    try:
        answer = light_http.send_request(server.url, "POST", f"/api/{operation}", lines, body, seconds)
        return decode_reply(answer.status, answer.body)
    except (OSError, ValueError) as error:
        raise unreachable(server, error) from None


def decode_reply(status: int, body: bytes) -> dict[str, Any]:
    """The JSON object that the server answered; raises ServerRefusal for any status but 200."""
    decoded = json.loads(body)
    reply = decoded if isinstance(decoded, dict) else {}
    if status != _OK:
        raise ServerRefusal(status, reply)
    return reply


def unreachable(server: RemoteServer, error: Exception) -> ServerUnreachable:
    return ServerUnreachable(f"No server answers at {server.url} ({error}).")


def is_answering(url: str, seconds: float) -> bool:
    """Whether a server answers, with any status."""
    try:
        light_http.send_request(url, "GET", "/health", (), b"", seconds)
    except (OSError, ValueError):
        return False
    return True
