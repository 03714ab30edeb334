"""How many requests a key and an address may send: token buckets in memory, each replica with its own.

They keep one runaway program from taking the server from all others; they are no defence against many addresses.
Wrong keys are limited harder, in `edges/identity.py`.
"""

import ipaddress
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from commonplace import errors

_BURST_SECONDS: Final = 10
_MAX_BUCKETS: Final = 10_000


class TokenBuckets:
    """One bucket for each name, with as many tokens as ten seconds bring; the least recently used are forgotten."""

    def __init__(self, per_second: int) -> None:
        self._per_second, self._burst = per_second, per_second * _BURST_SECONDS
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take_token(self, name: str, now: float) -> float:
        """Take one; the seconds until there is one again if the bucket is empty, else 0."""
        tokens, since = self._buckets.get(name, (float(self._burst), now))
        tokens = min(self._burst, tokens + (now - since) * self._per_second)
        is_empty = tokens < 1
        self._buckets[name] = (tokens if is_empty else tokens - 1, now)
        self._buckets.move_to_end(name)
        if len(self._buckets) > _MAX_BUCKETS:
            self._buckets.popitem(last=False)
        return (1 - tokens) / self._per_second if is_empty else 0.0


class RateLimits:
    """Requests per second, by key and by address; 0 turns a limit off."""

    def __init__(self, per_key: int, per_address: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._keys = TokenBuckets(per_key) if per_key > 0 else None
        self._addresses = TokenBuckets(per_address) if per_address > 0 else None
        self._clock = clock

    def require_address(self, address: str) -> None:
        """Raise TooMany if this address sent too much. Loopback is exempt: a proxy there speaks for everybody."""
        if self._addresses is not None and (network := name_network(address)):
            _require_token(self._addresses.take_token(network, self._clock()), "This address")

    def require_key(self, key: str) -> None:
        """Raise TooMany if this key was used too often; without keys there is nobody to tell apart."""
        if self._keys is not None and key:
            _require_token(self._keys.take_token(key, self._clock()), "This key")


def _require_token(wait_seconds: float, who: str) -> None:
    if wait_seconds > 0:
        raise errors.TooMany(
            f"{who} sends too many requests.",
            hint="Wait as long as Retry-After says; the operator can raise the limit.",
            retry_after=math.ceil(wait_seconds),
        )


@lru_cache(maxsize=4096)
def name_network(address: str) -> str:
    """The address, or the /64 of an IPv6 one, which one machine can fill alone; empty for loopback and no address."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return ""
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped:
        parsed = parsed.ipv4_mapped
    if parsed.is_loopback:
        return ""
    if isinstance(parsed, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed)
