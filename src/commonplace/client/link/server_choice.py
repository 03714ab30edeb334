"""Which server the commands of a person use: the first place that names one.

In this order: --url; --data or --store; COMMONPLACE_URL; `url` in the project's .commonplace.toml; `url` in config.toml,
which `connect` and `install` write; the server that runs on this machine's data folder. If none runs there, the store
of that folder is used without a server. Hooks, uploads and the stdio proxy choose in the same order, but without flags
and without the store: see `remote.find_server`.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from commonplace import errors
from commonplace.beacon import read_beacon
from commonplace.client.link import http_connection, remote
from commonplace.client.link.remote import NamedUrl, RemoteServer

_HEALTH_SECONDS = 2


class ServerChoice(NamedTuple):
    """A server and what names it; without a server, the store of the data folder."""

    server: RemoteServer | None
    named_by: str


def list_server_choices(url: str | None, data: Path, *, is_data_named: bool) -> Iterator[ServerChoice]:
    """The server to use, then those that it overrides.

    `data` is the data folder; `is_data_named` says whether a flag names it or its store.
    """
    if url:
        yield _named_choice(NamedUrl(url, "--url"), data)
    if is_data_named:
        yield _data_folder_choice(data)
    for named in remote.list_named_urls(Path.cwd(), _read_configuration()):
        yield _named_choice(named, data)
    if not is_data_named:
        yield _data_folder_choice(data)


def _named_choice(named: NamedUrl, data: Path) -> ServerChoice:
    try:
        address = _use_own_address(remote.validate_url(named.url), data)
    except ValueError as wrong:
        raise errors.Invalid(
            f"{wrong}, in {named.named_by}.", hint="For example http://127.0.0.1:8080."
        ) from None
    # A cloned repository must not be able to name a server that receives COMMONPLACE_KEY.
    variable = "" if named.is_from_repository else os.environ.get("COMMONPLACE_KEY", "")
    key = variable or find_operator_token(address, data) or _read_configured_key(address)
    if not key and not named.is_from_repository:
        key = remote.read_local_token(address)
    return ServerChoice(RemoteServer(address, key), named.named_by)


def _read_configured_key(address: str) -> str:
    """The key that config.toml has for this server."""
    stored = remote.repository_configuration(address, _read_configuration())
    try:
        return remote.read_configured_secret("key", stored)
    except OSError as fault:
        raise errors.NotFound(
            f"The key that {remote.configuration_path()} names cannot be read ({fault.strerror}).",
            hint="Set COMMONPLACE_KEY, or run `commonplace connect` again with --key KEY.",
        ) from None


def find_operator_token(address: str, data: Path) -> str:
    """The operator's token, if this is the exact address of the server on this machine's data folder."""
    beacon = read_beacon(data)
    return str(beacon["token"]) if beacon and address == remote.normalize_url(str(beacon["url"])) else ""


def _use_own_address(address: str, data: Path) -> str:
    """The address at which this machine's own server was started, also where another name of loopback is given.

    Another user may listen on the same port of another loopback address, and must not get a token of ours.
    """
    own = remote.normalize_url(str(read_beacon(data).get("url") or ""))
    if not own or not remote.is_local_url(address) or not remote.is_local_url(own):
        return address
    return own if _find_port(address) == _find_port(own) else address


def _find_port(url: str) -> int:
    scheme, _, rest = url.partition("://")
    return http_connection.split_authority(rest.partition("/")[0], 443 if scheme == "https" else 80)[1]


def _data_folder_choice(data: Path) -> ServerChoice:
    named_by = f"the data folder {data}"
    beacon = read_beacon(data)
    if beacon and remote.is_answering(beacon["url"], _HEALTH_SECONDS):
        return ServerChoice(RemoteServer(remote.normalize_url(beacon["url"]), beacon["token"]), named_by)
    return ServerChoice(None, named_by)


def _read_configuration() -> dict[str, Any]:
    try:
        return remote.read_configuration()
    except (OSError, ValueError) as wrong:
        raise errors.Invalid(
            f"{remote.configuration_path()} cannot be read ({wrong}).", hint="Fix the file."
        ) from None
