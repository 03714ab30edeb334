"""Which host names and web pages may call: compared after parsing, never by prefix.

A page of another site must not reach a server on the reader's own machine, neither directly (Origin)
nor by a name that suddenly resolves to it (Host). router.py asks before anything else.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

from commonplace.edges.http.refusals import ForeignHost, ForeignOrigin

LOOPBACK_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})

_HINT: Final = "The operator can allow more with --allowed-hosts and --allowed-origins."


def require_allowed_origin(
    headers: Mapping[str, str], allowed_hosts: frozenset[str], allowed_origins: frozenset[str]
) -> None:
    """Raise ForeignHost or ForeignOrigin unless both headers are allowed.

    A host is allowed by its name (then with any port) or by `name:port`; "*" allows every host. An origin
    is allowed where its host is, or where it is listed itself. Programs send no Origin and may pass.
    """
    refusal = _find_refusal(headers.get("host", ""), headers.get("origin"), allowed_hosts, allowed_origins)
    if refusal is not None:
        raise refusal(hint=_HINT)


@lru_cache(maxsize=1024)
def _find_refusal(
    host: str, origin: str | None, allowed_hosts: frozenset[str], allowed_origins: frozenset[str]
) -> type[ForeignOrigin] | None:
    if not _is_host_allowed(host, allowed_hosts):
        return ForeignHost
    if origin is None or origin in allowed_origins:
        return None
    scheme, separator, authority = origin.partition("://")
    if scheme in {"http", "https"} and separator and _is_host_allowed(authority, allowed_hosts - {"*"}):
        return None
    return ForeignOrigin


def _is_host_allowed(authority: str, allowed: frozenset[str]) -> bool:
    if "*" in allowed:
        return True
    name = _parse_host_name(authority)
    return name is not None and (name in allowed or authority.lower() in allowed)


def _parse_host_name(authority: str) -> str | None:
    """The host name of an authority that is exactly `name` or `name:port`, else None."""
    try:
        parts = urlsplit(f"//{authority}")
        port = parts.port
    except ValueError:
        return None
    name = f"[{parts.hostname}]" if parts.hostname and ":" in parts.hostname else parts.hostname
    is_plain = authority.lower() in {name, f"{name}:{port}"}
    return name if is_plain else None
