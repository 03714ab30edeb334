"""Sessions that asked for a lock in vain: who they are, since when they wait, and what they and the holders are told.

A session waits until it gets the lock, does not use its reservation (`reservations.py`), withdraws, ends, or the lease
that it met would have lapsed twice: its holder may renew it once. Asking again does not cost it its place.
"""

from collections.abc import Collection, Iterable, Sequence

from commonplace.clock import MINUTE
from commonplace.file_region import shorten_path
from commonplace.identity import liveness
from commonplace.identity.session import AgentSession
from commonplace.notices import Notice, drop_notices, is_urgent_mail, list_notices, notify_sessions
from commonplace.rooms.locks import store
from commonplace.rooms.locks.lease import Lease, LockDecision
from commonplace.shortening import shorten_line
from commonplace.store.database import Row, Tx

_MAX_WAITERS = 200
_MAX_HOLDERS_TOLD = 20
_MAX_REASON_CHARACTERS = 80
_EXPECTED_LEASE = 30 * MINUTE
"""What somebody who has a reservation will probably lock it for: the default of memory_lock_files."""


def waiting_ends_at(leases: Iterable[Lease]) -> int:
    return max(
        lease.expires_at + (2 * _EXPECTED_LEASE if lease.is_reservation else lease.ttl) for lease in leases
    )


async def begin_waiting(
    tx: Tx, session: AgentSession, decision: LockDecision, reason: str, store_now: int, now: int
) -> None:
    await _notify_holders(tx, session, decision, reason, store_now, now)
    await insert_waiters(tx, session, decision, reason, store_now, now)


async def insert_waiters(
    tx: Tx, session: AgentSession, decision: LockDecision, reason: str, store_now: int, now: int
) -> None:
    """A session that already waits for a path keeps its place, unless its waiting was over."""
    leases_by_path: dict[str, list[Lease]] = {}
    for request, lease in decision.conflicts:
        leases_by_path.setdefault(request.path, []).append(lease)
    mode = decision.conflicts[0][0].mode
    await tx.many(
        "insert into lock_waiter (project, session, path, agent, mode, reason, at, until)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8)"
        " on conflict (project, session, path) do update set mode = excluded.mode, reason = excluded.reason,"
        " at = case when lock_waiter.until <= $9 then excluded.at else lock_waiter.at end,"
        " reserved_until = case when lock_waiter.until <= $9 then 0 else lock_waiter.reserved_until end,"
        " until = case when lock_waiter.until > excluded.until then lock_waiter.until else excluded.until end",
        [
            (
                *(session.project, session.id, path, session.agent),
                *(mode, reason, now, waiting_ends_at(leases), store_now),
            )
            for path, leases in leases_by_path.items()
        ],
    )


async def _notify_holders(
    tx: Tx, session: AgentSession, decision: LockDecision, reason: str, store_now: int, now: int
) -> None:
    """Tell the holders who wants their files; about each file once, until the session got it or withdrew."""
    known = set(await _list_paths_of_session(tx, session, store_now))
    wanted: dict[str, list[str]] = {}
    for request, lease in decision.conflicts:
        if request.path not in known and _is_held(lease, store_now):
            wanted.setdefault(lease.session, []).append(request.file)
    purpose = shorten_line(reason, _MAX_REASON_CHARACTERS)
    for holder, files in list(wanted.items())[:_MAX_HOLDERS_TOLD]:
        names = store.format_file_names(list(dict.fromkeys(files)))
        body = {"agent": session.agent, "files": names, "reason": purpose}
        await notify_sessions(
            tx, session.project, [holder], Notice("wanted", body, f"{session.agent} {names}"), now
        )


def _is_held(lease: Lease, now: int) -> bool:
    return not lease.is_reservation and not lease.session_ended and lease.blocks_others(now)


async def find_interruption(tx: Tx, session: AgentSession, holders: Collection[str]) -> str:
    """What must not wait until the end of a wait for a lock; empty if there is nothing of it.

    That is urgent mail, and a holder that waits in turn for a file of this session: neither would get on.
    """
    notices = await list_notices(tx, session)
    if any(is_urgent_mail(notice) for notice in notices):
        return "urgent mail came"
    wanting = {notice.body["agent"] for notice in notices if notice.kind == "wanted"}
    waiting = sorted(wanting & set(holders))
    return f"{waiting[0]} waits for a file that you have locked, so one of you must unlock" if waiting else ""


async def drop_wanted_notices(tx: Tx, session: AgentSession) -> None:
    """The session holds no lock any more: it need not be told that somebody wants its files."""
    if session.has_notice:
        await drop_notices(tx, session.project, "wanted", sessions=[session.id])


async def withdraw_waiters(tx: Tx, session: AgentSession, paths: Sequence[str]) -> list[str]:
    """The session no longer waits for these paths, or for any if there are none; return those that it waited for."""
    rows = await tx.all(
        "delete from lock_waiter where project = $1 and session = $2 and ($3 = 1 or path = any($4)) returning path",
        *(session.project, session.id, int(not paths), list(paths)),
    )
    if rows and session.has_notice:
        withdrawn = [row["path"] for row in rows]
        await drop_notices(tx, session.project, "free", sessions=[session.id], subjects=withdrawn)
    return sorted(shorten_path(row["path"]) for row in rows)


async def list_free_paths(tx: Tx, session: AgentSession) -> list[str]:
    """The paths that the session will be told are free."""
    return [notice.subject for notice in await list_notices(tx, session) if notice.kind == "free"]


async def delete_waiters_of_session(tx: Tx, project: str, session: str) -> bool:
    """The session ended; return whether something was reserved for it."""
    rows = await tx.all(
        "delete from lock_waiter where project = $1 and session = $2 returning reserved_until",
        project,
        session,
    )
    had_reservation = any(row["reserved_until"] for row in rows)
    if had_reservation:
        await drop_notices(tx, project, "free", sessions=[session])
    return had_reservation


async def move_waiters(tx: Tx, session: AgentSession, dormant: Sequence[str]) -> None:
    """The session that starts waits for what these waited for, since they did."""
    rows = await tx.all(
        "delete from lock_waiter where project = $1 and session = any($2)"
        " returning path, mode, reason, at, until, reserved_until",
        session.project,
        list(dormant),
    )
    first_by_path = {row["path"]: row for row in sorted(rows, key=lambda row: -row["at"])}
    await tx.many(
        "insert into lock_waiter (project, session, path, agent, mode, reason, at, until, reserved_until)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        [
            (
                *(session.project, session.id, path, session.agent),
                *(row["mode"], row["reason"], row["at"], row["until"], row["reserved_until"]),
            )
            for path, row in first_by_path.items()
        ],
    )


async def list_waiters(tx: Tx, project: str, store_now: int, session: str = "") -> Sequence[Row]:
    """List who waits at this time of leases, the longest first; `session` also if it is dormant."""
    return await tx.all(
        "select lock_waiter.session, lock_waiter.path, lock_waiter.agent, lock_waiter.mode, lock_waiter.reason,"
        " lock_waiter.at, lock_waiter.until, lock_waiter.reserved_until, session.active_at"
        " from lock_waiter join session on session.project = $1 and session.id = lock_waiter.session"
        " left join api_key on api_key.id = session.key_id"
        " where lock_waiter.project = $1 and lock_waiter.until > $2 and session.ended_at is null"
        f" and api_key.revoked_at is null and (lock_waiter.session = $4 or not {liveness.is_superseded()})"
        " order by lock_waiter.at, lock_waiter.session, lock_waiter.path limit $3",
        project,
        store_now,
        _MAX_WAITERS,
        session,
    )


async def take_free_notice(tx: Tx, project: str, session: str, path: str) -> Row | None:
    """Drop the notice that the path came free, if its session has not read it, and return it."""
    return await tx.one(
        "delete from notice where project = $1 and session = $2 and kind = 'free' and subject = $3 returning at",
        *(project, session, path),
    )


async def _list_paths_of_session(tx: Tx, session: AgentSession, store_now: int) -> list[str]:
    """What the session waits for."""
    rows = await tx.all(
        "select path from lock_waiter where project = $1 and session = $2 and until > $3 order by path",
        *(session.project, session.id, store_now),
    )
    return [row["path"] for row in rows]


async def delete_waiters(tx: Tx, project: str, session: str, waited_paths: Sequence[str]) -> None:
    await tx.queue(
        "delete from lock_waiter where project = $1 and session = $2 and path = any($3)",
        project,
        session,
        list(waited_paths),
    )
