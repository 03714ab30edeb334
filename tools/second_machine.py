"""Another machine for `make newcomer`: a network namespace of its own, connected to this one by a virtual cable.

That needs Linux and root. Elsewhere the second machine is another home folder that uses this machine's network address,
which is not loopback, and what was used is printed.
"""

import contextlib
import ipaddress
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from typing import NamedTuple

_PREFIX_LENGTH = 30
_NETWORKS = ipaddress.ip_network("198.18.0.0/15")  # for trials, by RFC 2544: nobody routes it
_UNROUTED_ADDRESS = ("203.0.113.1", 9)


class SecondMachine(NamedTuple):
    server_address: str
    """Where the second machine reaches the first."""
    prefix: tuple[str, ...]
    """What a command on the second machine starts with."""
    kind: str


@contextlib.contextmanager
def connect_second_machine() -> Iterator[SecondMachine]:
    name = f"newcomer{os.getpid()}"
    cable, far_end = f"cpa{os.getpid()}", f"cpb{os.getpid()}"
    server, client = _choose_addresses()
    steps = [
        f"ip netns add {name}",
        f"ip link add {cable} type veth peer name {far_end}",
        f"ip link set {far_end} netns {name}",
        f"ip addr add {server}/{_PREFIX_LENGTH} dev {cable}",
        f"ip link set {cable} up",
        f"ip netns exec {name} ip addr add {client}/{_PREFIX_LENGTH} dev {far_end}",
        f"ip netns exec {name} ip link set {far_end} up",
        f"ip netns exec {name} ip link set lo up",
    ]
    try:
        if shutil.which("ip") and all(_succeeds(step) for step in steps):
            prefix = ("ip", "netns", "exec", name)
            yield SecondMachine(server, prefix, "a network namespace")
        else:
            yield SecondMachine(_find_own_address(), (), "this machine's network address")
    finally:
        if shutil.which("ip"):
            _succeeds(f"ip link del {cable}")
            _succeeds(f"ip netns del {name}")


def _choose_addresses() -> tuple[str, str]:
    """Two addresses of a network of this process, because several trials may run on one machine."""
    count = 2 ** (_PREFIX_LENGTH - _NETWORKS.prefixlen)
    first = int(_NETWORKS.network_address) + (os.getpid() % count) * 2 ** (32 - _PREFIX_LENGTH)
    server, client = (str(ipaddress.ip_address(first + number)) for number in (1, 2))
    return server, client


def _succeeds(command: str) -> bool:
    return subprocess.run(command.split(), capture_output=True, check=False).returncode == 0


def _find_own_address() -> str:
    """The address that this machine has towards others; nothing is sent."""
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as probe:
        try:
            probe.connect(_UNROUTED_ADDRESS)
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])
