"""The uploader's settings in config.toml, and its server's refusals as errors."""

from typing import Annotated

import msgspec

from commonplace import errors
from commonplace.client.link import remote

_Text = Annotated[str, msgspec.Meta(min_length=1)]


class GlobSetting(msgspec.Struct, frozen=True):
    """Transcript files of an agent that is not in the registry."""

    tool: _Text
    glob: _Text
    project: str = ""
    whole: bool = False


class SyncSettings(msgspec.Struct, frozen=True):
    """The table [sync] in config.toml."""

    tools: list[str] | None = None
    exclude: list[str] = []
    globs: list[GlobSetting] = []


def find_sync_server() -> remote.RemoteServer | None:
    """The server with the uploader's token; None if no address is known."""
    try:
        return remote.find_server("sync_token")
    except (OSError, ValueError) as error:
        raise errors.Invalid(f"config.toml is invalid: {error}.", hint=str(remote.client_home())) from None


def require_sync_server() -> remote.RemoteServer:
    server = find_sync_server()
    if server is None:
        raise unknown_server()
    return server


def unknown_server() -> errors.Unavailable:
    return errors.Unavailable("No server is known.", hint="Set COMMONPLACE_URL, or url in config.toml.")


def read_sync_settings() -> SyncSettings:
    try:
        return msgspec.convert(remote.read_configuration().get("sync", {}), SyncSettings)
    except msgspec.ValidationError as error:
        raise errors.Invalid(
            f"[sync] in config.toml is invalid: {error}.",
            hint=f"Fix {remote.client_home() / 'config.toml'}: tools and exclude are lists of strings.",
        ) from None


def to_refusal(refused: remote.ServerRefusal) -> errors.Refusal:
    if refused.status == errors.Unauthenticated.status:
        return errors.Unauthenticated(
            str(refused),
            hint="Run: commonplace connect AGENT --key KEY. Or set COMMONPLACE_KEY or SYNC_TOKEN.",
        )
    return errors.Forbidden(str(refused), hint=refused.body.get("hint"))
