"""What keeps the time of leases steady over jumps of the store's clock and over restarts (`store/lease_clock.py`).

A running server adds a jump to the shift that all replicas share, and writes down the time that it saw last while there
are leases. A server that starts continues from there: in the same boot of the same machine its down time counts, else a
lease has as much time left as it had then.
"""

import logging
from pathlib import Path
from typing import Final

import msgspec

from commonplace.clock import SECOND
from commonplace.project import list_all_project_names
from commonplace.store.database import Database, Tx
from commonplace.store.lease_clock import JUMP_MICROSECONDS, LeaseClock, store_clock_shift

_log = logging.getLogger(__name__)

WATCH_SECONDS: Final = 5.0
_MAX_UNSEEN_MICROSECONDS: Final = 30 * SECOND
"""Another replica writes down the time every few seconds, so a server that starts may find it this old."""
_BOOT_ID_FILE: Final = Path("/proc/sys/kernel/random/boot_id")


class SeenTime(msgspec.Struct, frozen=True):
    """A time of leases, and when that was on the boot clock of the machine that saw it."""

    at: int
    boot_id: str
    boot_at: int

    def expect_now(self, boot_id: str, boot_now: int) -> int:
        """The time that it must be now, if the clock was not set."""
        return self.at + (boot_now - self.boot_at if boot_id and boot_id == self.boot_id else 0)


async def resume_lease_clock(database: Database) -> None:
    """Continue the time of leases where the last server stopped; before the first call."""
    clock = database.lease_clock
    if clock is not None:
        jump = await database.write(lambda tx: _resume(tx, clock, read_boot_id()))
        if jump:
            _log.warning("leases keep the time they had left", extra={"clock_moved_seconds": jump // SECOND})


async def _resume(tx: Tx, clock: LeaseClock, boot_id: str) -> int:
    now = await tx.clock()
    shift = clock.jump.shift
    expected = await _expect_now(tx, boot_id, clock.read_boot())
    if expected is None or expected - JUMP_MICROSECONDS <= now <= expected + _MAX_UNSEEN_MICROSECONDS:
        return 0
    return now - expected if await store_clock_shift(tx, shift + now - expected, shift) else 0


async def _expect_now(tx: Tx, boot_id: str, boot_now: int) -> int | None:
    """The time of leases that the last server would show now; None if there are no leases."""
    renewed = await tx.one(
        "select max(expires_at - ttl) as at from lease where project = any($1)",
        await list_all_project_names(tx),
    )
    if renewed is None or renewed["at"] is None:
        return None
    row = await tx.one("select value from setting where name = 'clock_seen'")
    seen = msgspec.json.decode(row["value"], type=SeenTime).expect_now(boot_id, boot_now) if row else 0
    return max(seen, int(renewed["at"]))


async def watch_lease_clock(database: Database) -> None:
    """Notice a jump of the store's clock, and write down the time if there are leases."""
    clock = database.lease_clock
    if clock is None:
        return
    await database.read(lambda tx: tx.clock())
    if clock.jump.microseconds:
        await database.write(lambda tx: _settle_jump(tx, clock))
    if await database.read(_has_leases):
        await database.write(lambda tx: _store_seen_time(tx, clock, read_boot_id()))


async def _settle_jump(tx: Tx, clock: LeaseClock) -> None:
    """Add the jump to the shift. Another replica may have done it meanwhile: then nothing is changed."""
    await tx.clock()
    jump, shift = clock.jump
    if jump and await store_clock_shift(tx, shift + jump, shift):
        _log.warning("the store's clock jumped; leases do not", extra={"seconds": jump / SECOND})


async def _has_leases(tx: Tx) -> bool:
    projects = await list_all_project_names(tx)
    return await tx.one("select 1 as yes from lease where project = any($1) limit 1", projects) is not None


async def _store_seen_time(tx: Tx, clock: LeaseClock, boot_id: str) -> None:
    seen = SeenTime(await tx.clock(), boot_id, clock.read_boot())
    await tx.queue(
        "insert into setting (name, value) values ('clock_seen', $1)"
        " on conflict (name) do update set value = excluded.value",
        msgspec.json.encode(seen).decode(),
    )


def read_boot_id() -> str:
    """The boot of this machine; empty where it is not known."""
    try:
        return _BOOT_ID_FILE.read_text(encoding="ascii").strip()
    except OSError:
        return ""
