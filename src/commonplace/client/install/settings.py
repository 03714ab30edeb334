"""Which server the agents shall speak to, and how the commands of this machine remember it."""

import os
from pathlib import Path
from typing import Any

from commonplace import errors
from commonplace.client import remote
from commonplace.client.install import files
from commonplace.client.install.changes import Wanted
from commonplace.client.install.wishes import Put, Whole, Wish
from commonplace.client.remote import RemoteServer

ASSUMED = "http://127.0.0.1:8080"
MOST_LEARNINGS = 10


def chosen(url: str | None, key: str | None) -> RemoteServer:
    """What was given first, then what this machine speaks to already, then where `commonplace serve` listens."""
    configured = _configured()
    try:
        address = remote.validate_url(url or remote.find_server_url(configured) or ASSUMED)
    except ValueError as wrong:
        raise errors.Invalid(f"{wrong}.", hint=f"Such as {ASSUMED}.") from None
    known = {} if _is_for_another(address, url, configured) else configured
    return RemoteServer(address, checked("--key", _key(known) if key is None else key))


def checked(flag: str, secret: str) -> str:
    """A key stands in a header, which takes no blanks, no line ends and no letters beyond ASCII."""
    if not secret.isascii() or not secret.isprintable() or " " in secret:
        raise errors.Invalid(f"{flag} has characters that no key has.", hint="Give the key alone.")
    return secret


def learnings(given: int | None) -> int:
    """How many the hooks add to a prompt: as was asked for, else as it is configured."""
    told = _configured().get("hooks")
    count = told.get("learnings", 0) if given is None and isinstance(told, dict) else given or 0
    if not isinstance(count, int) or not 0 <= count <= MOST_LEARNINGS:
        raise errors.Invalid(f"{count} is no number of learnings.", hint=f"From 0 to {MOST_LEARNINGS}.")
    return count


def wanted(
    server: RemoteServer,
    url: str | None,
    key: str | None,
    prompts: int | None = None,
    sync_token: str | None = None,
) -> list[Wanted]:
    """A server that is found by its data folder is not written down: it may listen elsewhere tomorrow."""
    configured = _configured()
    named = url or os.environ.get("COMMONPLACE_URL") or os.environ.get("COMMONPLACE_DATA")
    wishes: list[Wish] = [Put(_configuration(), ("url",), server.url)] if named else []
    given = server.key if key or os.environ.get("COMMONPLACE_KEY") else ""
    if given and not _comes_from_the_environment(given):
        wishes += _by_reference("key", given)
    if sync_token:
        wishes += _by_reference("sync_token", sync_token)
    if named and _is_for_another(server.url, url, configured):
        kept = {"key": given, "sync_token": sync_token}
        left = [name for name, now in kept.items() if configured.get(name) and not now]
        wishes += [Put(_configuration(), (name,), "") for name in left]
    if prompts is not None and prompts != learnings(None):
        wishes.append(Put(_configuration(), ("hooks", "learnings"), prompts))
    return [Wanted(wish, part="settings") for wish in wishes]


def _is_for_another(address: str, url: str | None, configured: dict[str, Any]) -> bool:
    """The tokens that config.toml refers to were given for another server: the one it names, or this machine's."""
    if remote.configuration_for(address, configured) != configured:
        return True
    return bool(url) and address != (remote.find_server_url(configured) or ASSUMED)


def _by_reference(name: str, secret: str) -> list[Wish]:
    place = remote.client_home() / name
    return [Whole(place, f"{secret}\n"), Put(_configuration(), (name,), f"file:{place}")]


def _comes_from_the_environment(key: str) -> bool:
    """The user decided that the key is in no file of ours."""
    kind, _, name = str(_configured().get("key", "")).partition(":")
    return kind == "env" and os.environ.get(name) == key


def written_secrets() -> list[str]:
    """What earlier commands wrote down."""
    return [
        (files.read(remote.client_home() / name) or b"").decode().strip() for name in ("key", "sync_token")
    ]


def _configured() -> dict[str, Any]:
    try:
        return remote.read_configuration()
    except (OSError, ValueError) as wrong:
        raise errors.Invalid(f"{_configuration()} can not be read ({wrong}).", hint="Mend it.") from None


def _key(configured: dict[str, Any]) -> str:
    try:
        return remote.read_secret("key", configured)
    except OSError as fault:
        raise errors.NotFound(
            f"The key that {_configuration()} names can not be read ({fault.strerror}).",
            hint="Give --key KEY.",
        ) from None


def _configuration() -> Path:
    return remote.client_home() / "config.toml"
