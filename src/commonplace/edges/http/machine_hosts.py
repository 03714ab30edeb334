"""The names and addresses by which other machines reach this one.

With keys on they are allowed as Host (`edges/application.py`), and the banner of `commonplace serve` prints them. What
only a proxy or a name server knows is not here: the operator adds it with --allowed-hosts.
"""

import contextlib
import ipaddress
import socket
import struct
import sys
from collections.abc import Iterator
from typing import NamedTuple

_ADDRESS_REQUEST = 0x8915  # SIOCGIFADDR of Linux
# No packet is sent to these: connecting a datagram socket only chooses the local address.
_OUTSIDE_ADDRESSES = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))


class MachineHosts(NamedTuple):
    names: frozenset[str]
    reachable_names: frozenset[str]
    """Those that resolve to an address that is not loopback, so that other machines may know them."""
    addresses: frozenset[str]

    def allowed_hosts(self) -> frozenset[str]:
        return self.names | {format_host(address) for address in self.addresses}


def find_machine_hosts() -> MachineHosts:
    hostname = socket.gethostname().lower()
    names, resolved = {hostname, f"{hostname.partition('.')[0]}.local"}, set[str]()
    with contextlib.suppress(OSError):
        for *_, canonical, address in socket.getaddrinfo(
            hostname, None, type=socket.SOCK_STREAM, flags=socket.AI_CANONNAME
        ):
            names |= {canonical.lower()} if canonical else set()
            resolved.add(str(address[0]))
    outside = frozenset(filter(_is_reachable, resolved))
    addresses = outside | set(
        filter(_is_reachable, (*_list_routed_addresses(), *_list_interface_addresses()))
    )
    reachable = names - {f"{hostname.partition('.')[0]}.local"} if outside else set()
    return MachineHosts(frozenset(names), frozenset(reachable), frozenset(addresses))


def format_host(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _is_reachable(address: str) -> bool:
    found = ipaddress.ip_address(address.partition("%")[0])
    return not (found.is_loopback or found.is_link_local or found.is_unspecified)


def _list_routed_addresses() -> Iterator[str]:
    """The addresses from which this machine would speak to others."""
    for family, outside in _OUTSIDE_ADDRESSES:
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((outside, 9))
            yield str(probe.getsockname()[0])


def _list_interface_addresses() -> Iterator[str]:
    """The IPv4 address of each network interface; only Linux tells without a further package."""
    if sys.platform != "linux":
        return
    import fcntl  # noqa: PLC0415 - does not exist on Windows

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, interface in socket.if_nameindex():
            with contextlib.suppress(OSError):
                request = struct.pack("256s", interface.encode()[:15])
                yield socket.inet_ntoa(fcntl.ioctl(probe.fileno(), _ADDRESS_REQUEST, request)[20:24])
