"""Retention of leases that lapsed and that nobody renewed or took over, and of sessions that waited for a lock."""

from collections.abc import Sequence
from dataclasses import replace

from commonplace.clock import DAY
from commonplace.retention import RetentionRule, Sweep, delete_from_table
from commonplace.rooms.locks import store
from commonplace.store.database import Row, Tx


async def _notify_holders(tx: Tx, batch: Sweep, rows: Sequence[Row]) -> None:
    await store.notify_lapsed_holders(tx, batch.project, rows, batch.now)


def _by_time_of_leases(rule: RetentionRule, age: int) -> RetentionRule:
    """The same rule, by the clock that leases are compared with."""

    async def find_due(tx: Tx, projects: Sequence[str], _before: int, limit: int) -> set[str]:
        return await rule.find_due(tx, projects, await tx.clock() - age, limit)

    async def sweep(tx: Tx, batch: Sweep) -> int:
        return await rule.sweep(tx, replace(batch, before=await tx.clock() - age))

    async def count(tx: Tx, batch: Sweep) -> int:
        return await rule.count(tx, replace(batch, before=await tx.clock() - age))

    return replace(rule, find_due=find_due, sweep=sweep, count=count)


LAPSED_LEASES = _by_time_of_leases(
    delete_from_table(
        "lease",
        kind="lapsed_leases",
        key=("path", "session"),
        old="expires_at <= $2",
        after=_notify_holders,
    ),
    age=DAY,
)
EXPIRED_WAITERS = _by_time_of_leases(
    delete_from_table("lock_waiter", kind="lock_waiters", key=("session", "path"), old="until <= $2"), age=0
)
