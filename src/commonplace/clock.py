"""The time, in whole microseconds since 1970 UTC; the clock of this machine that nobody can set; times as texts.

Stamps follow the machine's clock, also when it is set. Leases must not end because of that: `store/lease_clock.py`.
"""

import sys
import time
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], int]

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
LATE_COMMIT_MICROSECONDS = MINUTE
"""A transaction commits within this time after it read the clock."""
_NEVER = 2**62
_REMEMBERED_ROUNDS = 5


def read_wall_clock() -> int:
    return time.time_ns() // 1000


class WatchedClock:
    """A clock that remembers when it was set back: rows may have stamps of that time. One for each process."""

    def __init__(self, read: Clock) -> None:
        self._read = read
        self._latest = 0
        self._highest = 0
        self._lowest = _NEVER
        self._lowest_of_rounds: deque[int] = deque(maxlen=_REMEMBERED_ROUNDS)

    def __call__(self) -> int:
        now = self._read()
        if now < self._highest:
            self._lowest = min(self._lowest, now)
        else:
            self._highest = now
            self._latest = max(self._latest, now)
        return now

    def know_later(self, at: int) -> None:
        """Somebody had this time before."""
        self._latest = max(self._latest, at)

    def is_behind(self, now: int) -> bool:
        """Is this time earlier, by more than a transaction takes, than one that this process or somebody else had before?"""
        return now < self._latest - LATE_COMMIT_MICROSECONDS

    def end_round(self) -> int:
        """The lowest time after a step back in this round or the last ones; far in the future if there was none.

        Some rounds are remembered, because a transaction commits later than it reads the clock.
        """
        self._lowest_of_rounds.append(self._lowest)
        self._highest, self._lowest = 0, _NEVER
        return min(self._lowest_of_rounds)


def read_boot_clock() -> int:
    """Microseconds since some moment before this process; it also counts while the machine sleeps, where one can."""
    if sys.platform == "linux":
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000
    if sys.platform == "darwin":  # there CLOCK_MONOTONIC counts sleep, and time.monotonic does not
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    return time.monotonic_ns() // 1000


def iso(at: int) -> str:
    """ISO-8601 in UTC, to the second; what replies show."""
    return datetime.fromtimestamp(at // SECOND, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def format_time_of_day(at: int) -> str:
    """A time of today, or of the next hours: 08:31:04Z."""
    return iso(at).partition("T")[2]


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
