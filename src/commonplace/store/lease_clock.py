"""The time of leases: it goes on steadily, whatever is done to the clock of the machine or of the database.

Leases are compared with the store's clock minus a shift, which is one row that all replicas share. Every process compares
that time with its own clock that nobody can set. If the store's clock jumps, the process goes on without the jump and
adds it to the shift, so that the others, and those that start later, do the same. So a lease never ends because a clock
was set, and none blocks for longer: what is left of it stays the same.

Who records what for a restart is in `rooms/locks/lease_time.py`.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from commonplace.clock import SECOND, read_boot_clock
from commonplace.store.database import Tx

JUMP_MICROSECONDS: Final = 2 * SECOND
"""Smaller differences are corrections that a time service makes, which leases follow."""
SHIFT_COLUMN: Final = "(select value from setting where name = 'clock_shift') as shift"
_MAX_UNCERTAINTY: Final = SECOND


class _Reading(NamedTuple):
    """A time of the store, read between two times of this process."""

    at: int
    shift: int
    before: int
    after: int

    def find_jump(self, anchor: "_Reading") -> int:
        """How far this reading is from what it must be after the anchor; 0 if that may be true."""
        earliest = anchor.at + self.before - anchor.after
        latest = anchor.at + self.after - anchor.before
        if earliest - JUMP_MICROSECONDS <= self.at <= latest + JUMP_MICROSECONDS:
            return 0
        return self.at - (latest if self.at > latest else earliest)


class ClockJump(NamedTuple):
    """How far the store's clock jumped since the shift had this value; nobody has added it to the shift yet."""

    microseconds: int
    shift: int


class LeaseClock:
    """One for each process and store."""

    def __init__(self, read_boot: Callable[[], int] = read_boot_clock) -> None:
        self.read_boot = read_boot
        self._anchor: _Reading | None = None
        self.jump = ClockJump(0, 0)

    def correct(self, now: int, stored_shift: str | None, before: int) -> int:
        """The time of leases, from the store's time and its shift, asked for at `before`."""
        shift = int(stored_shift or 0)
        reading = _Reading(now - shift, shift, before, self.read_boot())
        anchor = self._anchor
        # A shift that has changed since was decided by somebody else, for all.
        jump = reading.find_jump(anchor) if anchor and anchor.shift == shift else 0
        self.jump = ClockJump(jump, shift)
        if jump:
            return reading.at - jump
        if anchor is None or anchor.shift != shift or reading.after - before < _MAX_UNCERTAINTY:
            self._anchor = reading
        return reading.at


async def store_clock_shift(tx: Tx, shift: int, expected: int) -> bool:
    """Change the shift, unless somebody else has changed it since it was read."""
    changed = await tx.run(
        "insert into setting (name, value) values ('clock_shift', $1)"
        " on conflict (name) do update set value = excluded.value where setting.value = $2",
        str(shift),
        str(expected),
    )
    return changed == 1
