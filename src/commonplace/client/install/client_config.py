"""Which server the agents shall speak to, and how the commands of this machine remember it."""

import os
from pathlib import Path
from typing import Any

from commonplace import errors
from commonplace.client import remote
from commonplace.client.install import files
from commonplace.client.install.changes import RequestedEdit
from commonplace.client.install.setting_edits import PutValue, SettingEdit, WriteFile
from commonplace.client.remote import RemoteServer

DEFAULT_URL = "http://127.0.0.1:8080"
MAX_LEARNINGS = 10


def choose_server(url: str | None, key: str | None) -> RemoteServer:
    """What was given first, then what this machine speaks to already, then where `commonplace serve` listens."""
    configured = _read_config()
    try:
        address = remote.validate_url(url or remote.find_server_url(configured) or DEFAULT_URL)
    except ValueError as wrong:
        raise errors.Invalid(f"{wrong}.", hint=f"Such as {DEFAULT_URL}.") from None
    known = {} if _names_another_server(address, url, configured) else configured
    return RemoteServer(address, require_key_characters("--key", _read_key(known) if key is None else key))


def require_key_characters(flag: str, secret: str) -> str:
    """A key stands in a header, which takes no blanks, no line ends and no letters beyond ASCII."""
    if not secret.isascii() or not secret.isprintable() or " " in secret:
        raise errors.Invalid(f"{flag} has characters that no key has.", hint="Give the key alone.")
    return secret


def choose_learnings(given: int | None) -> int:
    """How many the hooks add to a prompt: as was asked for, else as it is configured."""
    told = _read_config().get("hooks")
    count = told.get("learnings", 0) if given is None and isinstance(told, dict) else given or 0
    if not isinstance(count, int) or not 0 <= count <= MAX_LEARNINGS:
        raise errors.Invalid(f"{count} is no number of learnings.", hint=f"From 0 to {MAX_LEARNINGS}.")
    return count


def plan_config_edits(
    server: RemoteServer,
    url: str | None,
    key: str | None,
    prompts: int | None = None,
    sync_token: str | None = None,
) -> list[RequestedEdit]:
    """A server that is found by its data folder is not written down: it may listen elsewhere tomorrow."""
    configured = _read_config()
    named = url or os.environ.get("COMMONPLACE_URL") or os.environ.get("COMMONPLACE_DATA")
    wishes: list[SettingEdit] = [PutValue(_config_path(), ("url",), server.url)] if named else []
    given = server.key if key or os.environ.get("COMMONPLACE_KEY") else ""
    if given and not _is_key_from_environment(given):
        wishes += _secret_edits("key", given)
    if sync_token:
        wishes += _secret_edits("sync_token", sync_token)
    if named and _names_another_server(server.url, url, configured):
        kept = {"key": given, "sync_token": sync_token}
        left = [name for name, now in kept.items() if configured.get(name) and not now]
        wishes += [PutValue(_config_path(), (name,), "") for name in left]
    if prompts is not None and prompts != choose_learnings(None):
        wishes.append(PutValue(_config_path(), ("hooks", "learnings"), prompts))
    return [RequestedEdit(wish, part="settings") for wish in wishes]


def _names_another_server(address: str, url: str | None, configured: dict[str, Any]) -> bool:
    """The tokens that config.toml refers to were given for another server: the one it names, or this machine's."""
    if remote.configuration_for(address, configured) != configured:
        return True
    return bool(url) and address != (remote.find_server_url(configured) or DEFAULT_URL)


def _secret_edits(name: str, secret: str) -> list[SettingEdit]:
    place = remote.client_home() / name
    return [WriteFile(place, f"{secret}\n"), PutValue(_config_path(), (name,), f"file:{place}")]


def _is_key_from_environment(key: str) -> bool:
    """The user decided that the key is in no file of ours."""
    kind, _, name = str(_read_config().get("key", "")).partition(":")
    return kind == "env" and os.environ.get(name) == key


def read_written_secrets() -> list[str]:
    """What earlier commands wrote down."""
    return [
        (files.read(remote.client_home() / name) or b"").decode().strip() for name in ("key", "sync_token")
    ]


def _read_config() -> dict[str, Any]:
    try:
        return remote.read_configuration()
    except (OSError, ValueError) as wrong:
        raise errors.Invalid(f"{_config_path()} can not be read ({wrong}).", hint="Mend it.") from None


def _read_key(configured: dict[str, Any]) -> str:
    try:
        return remote.read_secret("key", configured)
    except OSError as fault:
        raise errors.NotFound(
            f"The key that {_config_path()} names can not be read ({fault.strerror}).",
            hint="Give --key KEY.",
        ) from None


def _config_path() -> Path:
    return remote.client_home() / "config.toml"
