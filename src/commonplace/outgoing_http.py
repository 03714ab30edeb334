"""Send one POST to an address that an admin named: without redirects, within bounds, and never into the server's own network.

A name is resolved once, every address of it is checked, and the connection goes to the address that was checked, so that a
name which changes its mind between the two is of no use. Redirects are not followed.
"""

import http.client
import ipaddress
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from commonplace import errors

_MAX_ANSWER_BYTES = 65_536
_PORTS = {"https": 443, "http": 80}
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_HINT = "Name a public https address; serve --webhooks private also allows http and addresses of your own network."


class OutgoingFailure(Exception):
    """The request was not accepted. `is_final` means that trying again is of no use."""

    def __init__(self, reason: str, *, is_final: bool = False) -> None:
        super().__init__(reason)
        self.is_final = is_final


@dataclass(frozen=True, slots=True)
class OutgoingAddress:
    scheme: str
    host: str
    port: int
    path: str

    @property
    def shown(self) -> str:
        """What may be shown: the path of such addresses is a secret."""
        return f"{self.scheme}://{self.host}{'' if self.port == _PORTS[self.scheme] else f':{self.port}'}/…"


def parse_outgoing_url(url: str, *, allows_private: bool) -> OutgoingAddress:
    """The parts of an address that may be named; an address of numbers is checked at once, a name when it is used."""
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme, 0)
        host = (parts.hostname or "").encode("idna").decode()
    except (ValueError, UnicodeError):
        raise errors.Invalid("The address is not valid.", hint=_HINT) from None
    is_allowed = parts.scheme == "https" or (parts.scheme == "http" and allows_private)
    if not is_allowed or not host or parts.username is not None or not url.isprintable() or " " in url:
        raise errors.Invalid("This address cannot be used.", hint=_HINT)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        literal = ipaddress.ip_address(host)
    except ValueError:
        literal = None
    if literal is not None and not is_allowed_address(str(literal), allows_private=allows_private):
        raise errors.Invalid("This address is in a network that may not be reached.", hint=_HINT)
    return OutgoingAddress(parts.scheme, host, port, path)


def is_allowed_address(address: str, *, allows_private: bool) -> bool:
    """Public addresses; with `allows_private` also those of this machine and network, but never link-local ones, where
    clouds answer with credentials."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped:
            ip = ip.ipv4_mapped
        elif ip.sixtofour or ip.teredo or ip in _NAT64:
            return False
    if ip.is_loopback:
        return allows_private
    if ip.is_link_local or ip.is_multicast or ip.is_unspecified or ip.is_reserved:
        return False
    return allows_private or ip.is_global


def send_post(
    address: OutgoingAddress, body: bytes, headers: Mapping[str, str], *, allows_private: bool, seconds: float
) -> None:
    """Send, and return if the answer is 2xx; raises OutgoingFailure. It blocks: call it in a thread."""
    try:
        connection = _connect(address, allows_private, seconds)
        try:
            connection.request("POST", address.path, body, {"User-Agent": "commonplace", **headers})
            answer = connection.getresponse()
            answer.read(_MAX_ANSWER_BYTES)
        finally:
            connection.close()
    except (OSError, http.client.HTTPException) as error:
        raise OutgoingFailure(f"{type(error).__name__}: {error}"[:300]) from None
    if not 200 <= answer.status < 300:  # noqa: PLR2004 - success
        is_final = 300 <= answer.status < 500 and answer.status not in (408, 425, 429)  # noqa: PLR2004
        raise OutgoingFailure(f"It answered {answer.status}.", is_final=is_final)


def _connect(address: OutgoingAddress, allows_private: bool, seconds: float) -> http.client.HTTPConnection:
    found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    targets = [str(entry[4][0]) for entry in found]
    if not all(is_allowed_address(target, allows_private=allows_private) for target in targets):
        raise OutgoingFailure(f"{address.host} is in a network that may not be reached.", is_final=True)
    plain = socket.create_connection((targets[0], address.port), seconds)
    connection = http.client.HTTPConnection(address.host, address.port, timeout=seconds)
    if address.scheme == "https":
        try:
            connection.sock = ssl.create_default_context().wrap_socket(plain, server_hostname=address.host)
        except OSError:
            plain.close()
            raise
    else:
        connection.sock = plain
    return connection
