"""What config.toml says to the sync client, and how a server's refusal is told to its user."""

from typing import Annotated

import msgspec

from commonplace import errors
from commonplace.client import remote

_Text = Annotated[str, msgspec.Meta(min_length=1)]


class Glob(msgspec.Struct, frozen=True):
    """Files of an agent that has no adapter."""

    tool: _Text
    glob: _Text
    project: str = ""
    whole: bool = False


class Sync(msgspec.Struct, frozen=True):
    """The table [sync]."""

    tools: list[str] | None = None
    exclude: list[str] = []
    globs: list[Glob] = []


def known_server() -> remote.RemoteServer | None:
    """The server with the sync client's token; none if nothing says where one is."""
    try:
        return remote.find_server("sync_token")
    except (OSError, ValueError) as wrong:
        raise errors.Invalid(
            f"config.toml cannot be used: {wrong}.", hint=str(remote.client_home())
        ) from None


def server() -> remote.RemoteServer:
    found = known_server()
    if found is None:
        raise unknown()
    return found


def unknown() -> errors.Unavailable:
    return errors.Unavailable("No server is known.", hint="Set COMMONPLACE_URL, or url in config.toml.")


def sync() -> Sync:
    try:
        return msgspec.convert(remote.read_configuration().get("sync", {}), Sync)
    except msgspec.ValidationError as wrong:
        raise errors.Invalid(
            f"[sync] of config.toml cannot be used: {wrong}.",
            hint=f"Mend {remote.client_home() / 'config.toml'}: tools and exclude are lists of texts.",
        ) from None


def refusal(refused: remote.ServerRefusal) -> errors.Refusal:
    if refused.status == errors.Unauthenticated.status:
        return errors.Unauthenticated(str(refused), hint="Set SYNC_TOKEN, or sync_token in config.toml.")
    return errors.Forbidden(str(refused), hint=refused.body.get("hint"))
