"""The address of the client of a request, also behind proxies that the operator named.

X-Forwarded-For is a list to which each proxy appends the address that it saw, so only its end can be trusted: as far as the
proxies are known. From any other peer the header is a text of the client and is ignored.
"""

import ipaddress
from collections.abc import Sequence
from functools import lru_cache

from commonplace import errors

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

FORWARDED_HEADER = "x-forwarded-for"
_MAX_HEADER_CHARACTERS = 2000


class TrustedProxies:
    """`names` are addresses or networks, such as 127.0.0.1 and 10.0.0.0/8."""

    def __init__(self, names: Sequence[str] = ()) -> None:
        self._networks = tuple(parse_network(name) for name in names)
        self._find = lru_cache(maxsize=1024)(self._find_client)

    def find_client(self, peer: str, forwarded: str) -> str:
        """The last address of the list that is not a known proxy; the peer, if the peer is none or the list ends early."""
        if not self._networks or not forwarded or len(forwarded) > _MAX_HEADER_CHARACTERS:
            return peer
        return self._find(peer, forwarded)

    def _find_client(self, peer: str, forwarded: str) -> str:
        client = peer
        for seen in reversed(forwarded.split(",")):
            if not self._trusts(client):
                return client
            address = _parse_address(_strip_port(seen.strip()))
            if address is None:
                return client
            client = str(address)
        return client

    def _trusts(self, text: str) -> bool:
        address = _parse_address(text)
        return address is not None and any(
            address in network for network in self._networks if network.version == address.version
        )


def parse_network(name: str) -> Network:
    try:
        return ipaddress.ip_network(name, strict=False)
    except ValueError:
        raise errors.Invalid(
            f"trusted_proxies has '{name[:80]}', which is not an address or a network.",
            hint="Such as --trusted-proxies 127.0.0.1,10.0.0.0/8",
        ) from None


def _parse_address(text: str) -> Address | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        return address.ipv4_mapped
    return address


def _strip_port(text: str) -> str:
    """Some proxies append the port: 203.0.113.7:4711, [2001:db8::1]:4711."""
    if text.startswith("["):
        return text[1:].partition("]")[0]
    host, _, port = text.partition(":")
    return host if port.isdecimal() and "." in host else text
