"""Sessions that asked for a lock in vain: they are told when the path comes free, and others see that they wait.

A release checks the waiters of its project; a lease that lapses silently is noticed by the waiter's own activity.
"""

from collections.abc import Sequence

from commonplace import activity
from commonplace.activity import AgentSession
from commonplace.clock import HOUR
from commonplace.rooms.locks import store
from commonplace.rooms.locks.lease import LockDecision, LockMode, LockRequest
from commonplace.rooms.locks.store import format_file_names
from commonplace.store.database import Row, Tx

WAITER_LIFETIME = 4 * HOUR
_MAX_WAITERS = 200


async def insert_waiters(
    tx: Tx, session: AgentSession, decision: LockDecision, mode: LockMode, now: int
) -> None:
    paths = dict.fromkeys(request.path for request, _ in decision.conflicts)
    await tx.many(
        "insert into lock_waiter (project, session, path, agent, mode, at) values ($1, $2, $3, $4, $5, $6)"
        " on conflict (project, session, path) do update set mode = excluded.mode, at = excluded.at",
        [(session.project, session.id, path, session.agent, mode, now) for path in paths],
    )


async def delete_waiters(tx: Tx, project: str, session: str, paths: Sequence[str]) -> None:
    await tx.run(
        "delete from lock_waiter where project = $1 and session = $2 and path = any($3)",
        project,
        session,
        list(paths),
    )


async def list_waiters(tx: Tx, project: str, now: int) -> Sequence[Row]:
    """List who waits, the longest first; sessions that ended do not wait."""
    return await tx.all(
        "select lock_waiter.session, lock_waiter.path, lock_waiter.agent, lock_waiter.mode, lock_waiter.at"
        " from lock_waiter join session on session.project = $1 and session.id = lock_waiter.session"
        " where lock_waiter.project = $1 and lock_waiter.at > $2 and session.ended_at is null"
        " order by lock_waiter.at, lock_waiter.path, lock_waiter.session limit $3",
        project,
        now - WAITER_LIFETIME,
        _MAX_WAITERS,
    )


async def notify_waiters_of_project(tx: Tx, project: str, now: int) -> None:
    """Notify the waiters whose paths a release made free."""
    await _notify_free_waiters(tx, project, await list_waiters(tx, project, now), now)


async def notify_waiter_on_activity(tx: Tx, session: AgentSession, now: int) -> None:
    """Notify the session if what it waits for lapsed meanwhile."""
    rows = await tx.all(
        "select session, path, mode from lock_waiter where project = $1 and session = $2 and at > $3 order by path",
        session.project,
        session.id,
        now - WAITER_LIFETIME,
    )
    await _notify_free_waiters(tx, session.project, rows, now)


async def _notify_free_waiters(tx: Tx, project: str, rows: Sequence[Row], now: int) -> None:
    if not rows:
        return
    lease_now = await tx.clock()
    fold = await store.project_ignores_case(tx, project)
    requests = [LockRequest.from_path(row["path"], row["mode"], fold) for row in rows]
    leases = [
        lease
        for lease in await store.list_candidate_leases(tx, project, requests, fold)
        if lease.blocks_others(lease_now)
    ]
    free_paths: dict[str, list[str]] = {}
    for row, request in zip(rows, requests, strict=True):
        if not any(lease.session != row["session"] and request.conflicts_with(lease) for lease in leases):
            free_paths.setdefault(row["session"], []).append(row["path"])
    for session, paths in free_paths.items():
        verb, pronoun = ("is", "it") if len(paths) == 1 else ("are", "them")
        text = f"{format_file_names(paths)} {verb} free now: lock {pronoun} with memory_lock_files."
        await activity.notify_sessions(tx, project, [session], text, now)
        await delete_waiters(tx, project, session, paths)


async def delete_expired_waiters(tx: Tx, projects: Sequence[str], now: int) -> None:
    await tx.run(
        "delete from lock_waiter where project = any($1) and at <= $2", list(projects), now - WAITER_LIFETIME
    )
