"""Which server agents are connected to, and the edits of config.toml that remember it."""

import os
import re
from pathlib import Path
from typing import Any

from commonplace import errors
from commonplace.client.install import files
from commonplace.client.install.changes import RequestedEdit
from commonplace.client.install.setting_edits import PutValue, SettingEdit, WriteFile
from commonplace.client.link import remote
from commonplace.client.link.remote import RemoteServer
from commonplace.client.project import PROJECT_FILE

DEFAULT_URL = "http://127.0.0.1:8080"
MAX_LEARNINGS = 10
_NOT_IN_NAMES = re.compile(r"[^0-9A-Za-z.]+")


def choose_server(url: str | None, key: str | None) -> RemoteServer:
    """The given server, else the one this machine uses already, else the default address of `commonplace serve`."""
    configured = _read_config()
    try:
        address = remote.validate_url(url or remote.find_server_url(configured) or DEFAULT_URL)
    except ValueError as error:
        raise errors.Invalid(f"{error}.", hint=f"For example {DEFAULT_URL}.") from None
    is_other = _names_another_server(address, url, configured)
    own_config = remote.repository_configuration(address, configured) if is_other else configured
    secret = require_key_characters("--key", _read_key(own_config) if key is None else key)
    return RemoteServer(address, secret)


def choose_toolsets(toolsets: str | None, url: str | None) -> str:
    """The given toolsets, else what follows /mcp in the given address, else what was chosen last; empty if nothing was.

    A text that starts with a slash is what follows /mcp; `all` means every tool.
    """
    if toolsets is not None:
        return _require_toolset_names(toolsets)
    view = remote.mcp_view_of_url(url or os.environ.get("COMMONPLACE_URL", ""))
    remembered = _read_config().get("toolsets", "")
    return view or (remembered if isinstance(remembered, str) else "")


def _require_toolset_names(toolsets: str) -> str:
    names = [name.strip() for name in toolsets.split(",") if name.strip()]
    if not names or not all(name.isidentifier() and name.isascii() for name in names):
        raise errors.Invalid(
            f"'{toolsets}' is not a list of toolset names.", hint="For example core,work; or all."
        )
    return ",".join(names)


def choose_view(server: RemoteServer, toolsets: str) -> RemoteServer:
    """The server with the chosen toolsets; without a choice it shows each agent what fits it."""
    if not toolsets:
        return server
    return server._replace(mcp_view=toolsets if toolsets.startswith("/") else f"/x/{toolsets}")


def require_key_characters(flag: str, secret: str) -> str:
    """A key is sent in a header, so it must be printable ASCII without spaces."""
    if not secret.isascii() or not secret.isprintable() or " " in secret:
        raise errors.Invalid(f"{flag} contains characters that a key cannot have.", hint="Pass only the key.")
    return secret


def choose_learnings(requested: int | None) -> int:
    """How many learnings hooks add to a prompt: as given, else as configured."""
    table = _read_config().get("hooks")
    count = table.get("learnings", 0) if requested is None and isinstance(table, dict) else requested or 0
    if not isinstance(count, int) or not 0 <= count <= MAX_LEARNINGS:
        raise errors.Invalid(
            f"{count} is not a valid number of learnings.", hint=f"Use 0 to {MAX_LEARNINGS}."
        )
    return count


def plan_config_edits(
    server: RemoteServer,
    url: str | None,
    key: str | None,
    prompts: int | None = None,
    sync_token: str | None = None,
    toolsets: str = "",
) -> list[RequestedEdit]:
    """The edits of config.toml. A server that was found by its data folder is not written: its address may change."""
    configured = _read_config()
    named_server = url or os.environ.get("COMMONPLACE_URL") or os.environ.get("COMMONPLACE_DATA")
    edits: list[SettingEdit] = [PutValue(_config_path(), ("url",), server.url)] if named_server else []
    new_key = server.key if key or os.environ.get("COMMONPLACE_KEY") else ""
    if new_key and not _is_key_from_environment(new_key):
        edits += _secret_edits("key", new_key)
    if sync_token:
        edits += _secret_edits("sync_token", sync_token)
    if named_server and _names_another_server(server.url, url, configured):
        new_secrets = {"key": new_key, "sync_token": sync_token}
        outdated = [name for name, now in new_secrets.items() if configured.get(name) and not now]
        edits += [PutValue(_config_path(), (name,), "") for name in outdated]
    if prompts is not None and prompts != choose_learnings(None):
        edits.append(PutValue(_config_path(), ("hooks", "learnings"), prompts))
    if toolsets and toolsets != configured.get("toolsets"):
        edits.append(PutValue(_config_path(), ("toolsets",), toolsets))
    return [RequestedEdit(edit, part="settings") for edit in edits]


def plan_project_edits(
    server: RemoteServer, url: str | None, key: str | None, folder: Path
) -> list[RequestedEdit]:
    """The edits that make a server that of one project: its hooks and uploads use it too. The machine's stays."""
    if not (url or os.environ.get("COMMONPLACE_URL")):
        return plan_config_edits(server, url, key)
    edits: list[SettingEdit] = [PutValue(folder / PROJECT_FILE, ("url",), server.url)]
    new_key = server.key if key or os.environ.get("COMMONPLACE_KEY") else ""
    if remote.normalize_url(str(_read_config().get("url", ""))) == server.url:
        edits += _secret_edits("key", new_key) if new_key and not _is_key_from_environment(new_key) else []
    elif new_key:
        path = remote.client_home() / f"key-{_NOT_IN_NAMES.sub('-', server.url)}"
        edits.append(WriteFile(path, f"{new_key}\n"))
        edits.append(PutValue(_config_path(), ("servers", server.url, "key"), f"file:{path}"))
    elif not server.key:
        edits.append(PutValue(_config_path(), ("servers", server.url, "trusted"), True))
    return [RequestedEdit(edit, part="settings") for edit in edits]


def _names_another_server(address: str, url: str | None, configured: dict[str, Any]) -> bool:
    """Whether the tokens in config.toml belong to another server: the one it names, or this machine's."""
    if remote.configuration_for(address, configured) != configured:
        return True
    return bool(url) and address != (remote.find_server_url(configured) or DEFAULT_URL)


def _secret_edits(name: str, secret: str) -> list[SettingEdit]:
    path = remote.client_home() / name
    return [WriteFile(path, f"{secret}\n"), PutValue(_config_path(), (name,), f"file:{path}")]


def _is_key_from_environment(key: str) -> bool:
    """Whether config.toml already refers to a variable that holds this key."""
    kind, _, name = str(_read_config().get("key", "")).partition(":")
    return kind == "env" and os.environ.get(name) == key


def read_written_secrets() -> list[str]:
    """The secrets that earlier commands wrote to files."""
    home = remote.client_home()
    paths = [home / "key", home / "sync_token", *sorted(home.glob("key-*"))]
    return [(files.read(path) or b"").decode().strip() for path in paths]


def _read_config() -> dict[str, Any]:
    try:
        return remote.read_configuration()
    except (OSError, ValueError) as error:
        raise errors.Invalid(f"{_config_path()} cannot be read ({error}).", hint="Fix the file.") from None


def _read_key(configured: dict[str, Any]) -> str:
    try:
        return remote.read_secret("key", configured)
    except OSError as fault:
        raise errors.NotFound(
            f"The key that {_config_path()} names cannot be read ({fault.strerror}).",
            hint="Pass --key KEY.",
        ) from None


def read_sync_token(server: RemoteServer) -> str:
    """The key that uploads to this server will use: the uploader's own if one is configured, else the agent's."""
    try:
        configured = remote.configuration_for(server.url, _read_config())
        return remote.read_secret("sync_token", {**configured, "key": ""}) or server.key
    except OSError:
        return server.key


def _config_path() -> Path:
    return remote.client_home() / "config.toml"
