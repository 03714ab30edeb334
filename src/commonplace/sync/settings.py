"""What config.toml says to the sync client, and how a server's refusal is told to its user."""

from typing import Any

from commonplace import errors
from commonplace.sync import reach


def server() -> reach.Server:
    """The server with the sync client's token."""
    try:
        found = reach.server("sync_token")
    except (OSError, ValueError) as wrong:
        raise errors.Invalid(f"config.toml cannot be used: {wrong}.", hint=str(reach.home())) from None
    if found is None:
        raise errors.Unavailable("No server is known.", hint="Set COMMONPLACE_URL, or url in config.toml.")
    return found


def sync() -> dict[str, Any]:
    """The table [sync]."""
    found: dict[str, Any] = reach.configuration().get("sync", {})
    return found


def refusal(refused: reach.Refused) -> errors.Refusal:
    if refused.status == errors.Unauthenticated.status:
        return errors.Unauthenticated(str(refused), hint="Set SYNC_TOKEN, or sync_token in config.toml.")
    return errors.Forbidden(str(refused), hint=refused.body.get("hint"))
