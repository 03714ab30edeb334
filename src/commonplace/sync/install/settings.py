"""Which server the agents shall speak to, and how the commands of this machine remember it."""

import os
from pathlib import Path

from commonplace import errors
from commonplace.sync import reach
from commonplace.sync.install import files
from commonplace.sync.install.changes import Wanted
from commonplace.sync.install.wishes import Put, Whole, Wish
from commonplace.sync.reach import Server

ASSUMED = "http://127.0.0.1:8080"


def chosen(url: str | None, key: str | None) -> Server:
    """What was given first, then what this machine speaks to already, then where `commonplace serve` listens."""
    known = reach.server()
    address = (url or (known.url if known else ASSUMED)).rstrip("/").removesuffix("/mcp")
    return Server(address, _key() if key is None else key)


def learnings() -> int:
    """How many the hooks add to a prompt, as it is configured."""
    told = reach.configuration().get("hooks")
    return int(told.get("learnings", 0)) if isinstance(told, dict) else 0


def wanted(
    server: Server,
    url: str | None,
    key: str | None,
    prompts: int | None = None,
    sync_token: str | None = None,
) -> list[Wanted]:
    """A server that is found by its data folder is not written down: it may listen elsewhere tomorrow."""
    named = url or os.environ.get("COMMONPLACE_URL") or os.environ.get("COMMONPLACE_DATA")
    wishes: list[Wish] = [Put(_configuration(), ("url",), server.url)] if named else []
    given = server.key if key or os.environ.get("COMMONPLACE_KEY") else ""
    if given and not _comes_from_the_environment(given):
        wishes += _by_reference("key", given)
    if sync_token:
        wishes += _by_reference("sync_token", sync_token)
    if prompts is not None and prompts != learnings():
        wishes.append(Put(_configuration(), ("hooks", "learnings"), prompts))
    return [Wanted(wish, part="settings") for wish in wishes]


def _by_reference(name: str, secret: str) -> list[Wish]:
    place = reach.home() / name
    return [Whole(place, f"{secret}\n"), Put(_configuration(), (name,), f"file:{place}")]


def _comes_from_the_environment(key: str) -> bool:
    """The user decided that the key is in no file of ours."""
    kind, _, name = str(reach.configuration().get("key", "")).partition(":")
    return kind == "env" and os.environ.get(name) == key


def written_secrets() -> list[str]:
    """What earlier commands wrote down."""
    return [(files.read(reach.home() / name) or b"").decode().strip() for name in ("key", "sync_token")]


def _key() -> str:
    try:
        return reach.secret("key", reach.configuration())
    except OSError as fault:
        raise errors.NotFound(
            f"The key that {_configuration()} names can not be read ({fault.strerror}).",
            hint="Give --key KEY.",
        ) from None


def _configuration() -> Path:
    return reach.home() / "config.toml"
