"""The clients' way to the server: find its address and key, and call an operation.

The address is COMMONPLACE_URL, else `url` in the repository's .commonplace.toml, else `url` in config.toml, else the
server that runs on this machine's data folder (`beacon.py`). Calls go over `server_link.py`. The commands of a person add
--url and --data: `server_choice.py`.
"""

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from commonplace.beacon import is_process_alive, local_servers_path, read_beacon, read_local_servers
from commonplace.client.link import http_connection
from commonplace.client.link.http_connection import HttpAnswer
from commonplace.client.project import find_project_setting

LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
_OK = 200
_CERTIFICATE_HINT = (
    "Name the file of its certificate authority: `ca_file` in config.toml, or COMMONPLACE_CA_FILE."
)
_SECRET_VARIABLES = {"key": "COMMONPLACE_KEY", "sync_token": "SYNC_TOKEN"}


class ServerUnreachable(Exception):
    """No server answers."""


class ServerUnknown(ServerUnreachable):
    """A repository names a server that the user has not connected this machine to."""


class ServerRefusal(Exception):
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
        text = configuration_path().read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    import tomllib  # most hooks run without a configuration

    return tomllib.loads(text)


def find_ca_file() -> str:
    """A file with further certificate authorities: COMMONPLACE_CA_FILE, else `ca_file` in config.toml; empty if unset."""
    named = os.environ.get("COMMONPLACE_CA_FILE") or str(read_configuration().get("ca_file") or "")
    return str(Path(named).expanduser()) if named else ""


class NamedUrl(NamedTuple):
    """The address of a server, and what names it."""

    url: str
    named_by: str
    is_from_repository: bool = False


def list_named_urls(folder: str | Path | None, configured: dict[str, Any]) -> Iterator[NamedUrl]:
    """The servers that are named, the one to use first. Without a folder no repository is asked."""
    if variable := os.environ.get("COMMONPLACE_URL"):
        yield NamedUrl(variable, "COMMONPLACE_URL")
    if folder is not None and (setting := find_project_setting(Path(folder), "url")):
        yield NamedUrl(setting.value, str(setting.path), is_from_repository=True)
    if url := configured.get("url"):
        yield NamedUrl(str(url), str(configuration_path()))


def configuration_path() -> Path:
    return client_home() / "config.toml"


def find_server(credential: str = "key", folder: str | Path | None = None) -> RemoteServer | None:
    """The server of the agents in this folder, with their key, or with the uploader's (`sync_token`).

    Raises ServerUnknown if a repository names a server that is not known here: it is never replaced by another.
    """
    if named := find_named_server(credential, folder):
        return named
    url = _local_server_url()
    if not url:
        return None
    secret = read_secret(credential, configuration_for(url, read_configuration()))
    return RemoteServer(url, secret or read_local_token(url))


def find_named_server(
    credential: str = "key", folder: str | Path | None = None, given_secret: str = "", given_url: str = ""
) -> RemoteServer | None:
    """As `find_server`, but None if only the data folder of this machine tells where a server runs.

    `given_url` comes first; `given_secret` replaces what is configured, but not for a server that a repository names.
    """
    configured = read_configuration()
    given = NamedUrl(validate_url(given_url), "--url") if given_url else None
    named = given or next(list_named_urls(folder, configured), None)
    if named is None:
        return None
    if named.is_from_repository:
        return find_repository_server(named, credential, configured)
    url = normalize_url(named.url)
    secret = given_secret or read_secret(credential, configuration_for(url, configured))
    return RemoteServer(url, secret or read_local_token(url))


def find_repository_server(named: NamedUrl, credential: str, configured: dict[str, Any]) -> RemoteServer:
    """Anybody can commit a file: it gets no key of another server, and no prompts or transcripts unless you agreed."""
    try:
        url = validate_url(named.url)
    except ValueError as error:
        raise ServerUnknown(f"{error}, in {named.named_by}.") from None
    stored = repository_configuration(url, configured)
    if not stored and not is_local_url(url):
        raise ServerUnknown(
            f"{named.named_by} names the server {url}, which this machine is not connected to."
            f" To use it: commonplace connect AGENT --project-scope --url {url}"
        )
    # Another user may listen on a port that a repository names; only this user's own server gets the token.
    own_token = read_local_token(url)
    return RemoteServer(url, read_configured_secret(credential, stored) or own_token)


def repository_configuration(url: str, configured: dict[str, Any]) -> dict[str, Any]:
    """The settings that the user stored for a server that a repository names; empty if there are none."""
    if configured.get("url") or url == _local_server_url():
        return configuration_for(url, configured)
    return _server_table(url, configured)


def is_local_url(url: str) -> bool:
    """Whether the address is that of a server on this machine."""
    authority = url.partition("://")[2].partition("/")[0]
    return http_connection.split_authority(authority, 80)[0] in LOCAL_HOSTS


def _local_server_url() -> str:
    return normalize_url(str(read_beacon(default_data_folder()).get("url") or ""))


def find_server_url(configured: dict[str, Any]) -> str:
    """The server that this machine uses outside of repositories that name another."""
    named = next(list_named_urls(None, configured), None)
    return normalize_url(named.url) if named else _local_server_url()


def configuration_for(url: str, configured: dict[str, Any]) -> dict[str, Any]:
    """The part of config.toml that holds the tokens of this server: all of it, a table of [servers], or nothing.

    Tokens beside `url` are only for the server that it names; without `url` they are for this machine's own.
    """
    named = configured.get("url")
    if not named or normalize_url(str(named)) == url:
        return configured
    return _server_table(url, configured)


def _server_table(url: str, configured: dict[str, Any]) -> dict[str, Any]:
    """The table [servers."URL"]."""
    servers = configured.get("servers")
    table = servers.get(url) if isinstance(servers, dict) else None
    return table if isinstance(table, dict) else {}


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
    http_connection.split_authority(rest.partition("/")[0], 0)
    return plain


def local_token_path() -> Path:
    """The file with this user's token for servers that run with --auth local."""
    return client_home() / "local.token"


def read_local_token(url: str) -> str:
    """The token that this user's own server asks for with --auth local; empty for any other address.

    Other names of loopback are not the same server: another user may listen there.
    """
    pid = read_local_servers(local_servers_path(local_token_path())).get(url)
    return read_token_file() if pid is not None and is_process_alive(pid) else ""


def read_token_file() -> str:
    try:
        return local_token_path().read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def read_secret(name: str, configured: dict[str, Any]) -> str:
    """A token: from its variable, else as config.toml refers to it. Without its own token the uploader uses the key."""
    secret = os.environ.get(_SECRET_VARIABLES[name]) or _read_reference(name, configured)
    return secret or (read_secret("key", configured) if name == "sync_token" else "")


def read_configured_secret(name: str, configured: dict[str, Any]) -> str:
    """A token as config.toml refers to it; raises OSError if its file cannot be read."""
    secret = _read_reference(name, configured)
    return secret or (_read_reference("key", configured) if name == "sync_token" else "")


def _read_reference(name: str, configured: dict[str, Any]) -> str:
    """What `env:NAME` or `file:PATH` refers to."""
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
    import platformdirs  # only needed without COMMONPLACE_DATA

    return Path(platformdirs.user_data_dir("commonplace", appauthor=False))


def call_operation(
    server: RemoteServer,
    operation: str,
    arguments: dict[str, Any],
    seconds: float,
    headers: Sequence[str] = (),
) -> dict[str, Any]:
    """Call one operation within `seconds`; raises ServerUnreachable or ServerRefusal."""
    from commonplace.client.link.server_link import find_link

    try:
        path, body = f"/api/{operation}", json.dumps(arguments).encode()
        answer = find_link(server.url).send(server, path, headers, body, seconds)
    except (OSError, ValueError) as error:
        raise unreachable(server, error) from None
    return decode_reply(server, answer)


def decode_reply(server: RemoteServer, answer: HttpAnswer) -> dict[str, Any]:
    """The JSON object that the server answered; raises ServerRefusal for any status but 200."""
    try:
        decoded = json.loads(answer.body)
    except ValueError as error:
        raise unreachable(server, error) from None
    reply = decoded if isinstance(decoded, dict) else {}
    if answer.status != _OK:
        raise ServerRefusal(answer.status, reply)
    return reply


def unreachable(server: RemoteServer, error: Exception) -> ServerUnreachable:
    is_untrusted = "certificate verify failed" in str(error)
    hint = f" {_CERTIFICATE_HINT}" if is_untrusted else ""
    return ServerUnreachable(f"No server answers at {server.url} ({error}).{hint}")


def is_answering(url: str, seconds: float) -> bool:
    """Whether a server answers, with any status."""
    try:
        http_connection.send_request(url, "GET", "/health", (), b"", seconds)
    except (OSError, ValueError):
        return False
    return True
