"""The time, in whole microseconds since 1970 UTC.

Leases must not end because somebody set the machine's clock. So the clock follows small corrections and ignores jumps:
after a jump it continues from the last good reading with the monotonic clock.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], int]

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

_JUMP = 2 * SECOND


class SteadyClock:
    def __init__(
        self,
        wall: Callable[[], int] = time.time_ns,
        monotonic: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._wall, self._monotonic = wall, monotonic
        self._offset = (wall() - monotonic()) // 1000

    def __call__(self) -> int:
        steady = self._monotonic() // 1000 + self._offset
        drift = self._wall() // 1000 - steady
        if abs(drift) < _JUMP:
            self._offset += drift
            return steady + drift
        return steady


def iso(at: int) -> str:
    """ISO-8601 in UTC, to the second; what replies show."""
    return datetime.fromtimestamp(at // SECOND, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def iso_exact(at: int) -> str:
    """The same with microseconds, where order matters."""
    return datetime.fromtimestamp(at // SECOND, UTC).strftime("%Y-%m-%dT%H:%M:%S") + f".{at % SECOND:06d}Z"


_STEPS = ((365 * DAY, "y"), (30 * DAY, "mo"), (DAY, "d"), (HOUR, "h"), (MINUTE, "min"))


def format_age(at: int, now: int) -> str:
    """How long ago, in one short word: just now, 5min, 3h, yesterday, 12d, 4mo, 2y."""
    passed = max(0, now - at)
    if DAY <= passed < 2 * DAY:
        return "yesterday"
    return next((f"{passed // size}{unit}" for size, unit in _STEPS if passed >= size), "just now")
