"""Which web pages and host names may speak to us: compared after parsing, never by prefix.

A page of another site must not reach a server on the reader's own machine, neither directly (Origin)
nor by a name that suddenly resolves to it (Host).
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

LOOPBACK_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
FORBIDDEN: Final = 403
MISDIRECTED: Final = 421


def check(
    headers: Mapping[str, str], allowed_hosts: frozenset[str], allowed_origins: frozenset[str]
) -> int | None:
    """The status to refuse with, or None.

    A host is allowed by its name (then with any port) or by `name:port`; "*" allows every host. An origin
    is allowed where its host is, or where it is listed itself. Programs send no Origin and may pass.
    """
    return _verdict(headers.get("host", ""), headers.get("origin"), allowed_hosts, allowed_origins)


@lru_cache(maxsize=1024)
def _verdict(
    host: str, origin: str | None, allowed_hosts: frozenset[str], allowed_origins: frozenset[str]
) -> int | None:
    if not _host_allowed(host, allowed_hosts):
        return MISDIRECTED
    if origin is None or origin in allowed_origins:
        return None
    scheme, separator, authority = origin.partition("://")
    if scheme in {"http", "https"} and separator and _host_allowed(authority, allowed_hosts - {"*"}):
        return None
    return FORBIDDEN


def _host_allowed(authority: str, allowed: frozenset[str]) -> bool:
    if "*" in allowed:
        return True
    name = _name_of(authority)
    return name is not None and (name in allowed or authority.lower() in allowed)


def _name_of(authority: str) -> str | None:
    """The host name of an authority that is nothing but `name` or `name:port`."""
    try:
        parts = urlsplit(f"//{authority}")
        port = parts.port
    except ValueError:
        return None
    name = f"[{parts.hostname}]" if parts.hostname and ":" in parts.hostname else parts.hostname
    plain = authority.lower() in {name, f"{name}:{port}"}
    return name if plain else None
