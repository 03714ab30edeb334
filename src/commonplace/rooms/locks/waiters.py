"""Sessions that asked for a lock in vain: they are told once when the path comes free, and others see that they wait.

A session waits until it gets the lock, ends, or the lease that it met would have lapsed twice: its holder may renew it
once. A release checks the waiters of its project; a lease that lapses silently is noticed by the waiter's own activity.
"""

from collections.abc import Collection, Iterable, Sequence

from commonplace import activity
from commonplace.activity import AgentSession
from commonplace.file_region import shorten_path
from commonplace.named_notices import delete_notices_by_prefix
from commonplace.notice import FREE_PREFIX, is_urgent_mail
from commonplace.rooms.locks import store
from commonplace.rooms.locks.lease import Lease, LockDecision, LockRequest
from commonplace.shortening import shorten_line
from commonplace.store.database import Row, Tx

_MAX_WAITERS = 200
_MAX_HOLDERS_TOLD = 20
_MAX_REASON_CHARACTERS = 80
_WANTED_PREFIX = "wanted_"


def waiting_ends_at(leases: Iterable[Lease]) -> int:
    return max(lease.expires_at + lease.ttl for lease in leases)


async def insert_waiters(tx: Tx, session: AgentSession, decision: LockDecision, now: int) -> None:
    leases_by_path: dict[str, list[Lease]] = {}
    for request, lease in decision.conflicts:
        leases_by_path.setdefault(request.path, []).append(lease)
    mode = decision.conflicts[0][0].mode
    await tx.many(
        "insert into lock_waiter (project, session, path, agent, mode, at, until) values ($1, $2, $3, $4, $5, $6, $7)"
        " on conflict (project, session, path) do update set mode = excluded.mode, at = excluded.at,"
        " until = excluded.until",
        [
            (session.project, session.id, path, session.agent, mode, now, waiting_ends_at(leases))
            for path, leases in leases_by_path.items()
        ],
    )


async def notify_holders(
    tx: Tx, session: AgentSession, decision: LockDecision, reason: str, store_now: int, now: int
) -> None:
    """Tell the holders who wants their files; about each file once, until the session got it or withdrew."""
    known = set(await list_paths_of_session(tx, session))
    wanted: dict[str, list[str]] = {}
    for request, lease in decision.conflicts:
        if request.path not in known and not lease.session_ended and lease.blocks_others(store_now):
            wanted.setdefault(lease.session, []).append(request.file)
    purpose = f' for "{shorten_line(reason, _MAX_REASON_CHARACTERS)}"' if reason.strip() else ""
    for holder, files in list(wanted.items())[:_MAX_HOLDERS_TOLD]:
        names = store.format_file_names(list(dict.fromkeys(files)))
        text = f"{session.agent} wants {names}{purpose}, which you have locked: memory_unlock_files when you are done."
        pending = await tx.one(
            "select 1 as yes from notice where project = $1 and session = $2 and text = $3 limit 1",
            session.project,
            holder,
            text,
        )
        if pending is None:
            await activity.notify_sessions(tx, session.project, [holder], text, now, _WANTED_PREFIX)


async def find_interruption(tx: Tx, session: AgentSession, holders: Collection[str]) -> str:
    """What must not wait until the end of a wait for a lock; empty if there is nothing of it.

    That is urgent mail, and a holder that waits in turn for a file of this session: neither would get on.
    """
    rows = await tx.all(
        "select id, text from notice where project = $1 and session = $2 order by at, id limit 200",
        session.project,
        session.id,
    )
    if any(is_urgent_mail(row) for row in rows):
        return "urgent mail came"
    wanted = [row["text"] for row in rows if row["id"].startswith(_WANTED_PREFIX)]
    waiting = [name for name in sorted(holders) if any(text.startswith(f"{name} wants ") for text in wanted)]
    return f"{waiting[0]} waits for a file that you have locked, so one of you must unlock" if waiting else ""


async def drop_wanted_notices(tx: Tx, session: AgentSession) -> None:
    """The session holds no lock any more: it need not be told that somebody wants its files."""
    if session.has_notice:
        await delete_notices_by_prefix(tx, session, _WANTED_PREFIX)


async def withdraw_waiters(tx: Tx, session: AgentSession, paths: Sequence[str]) -> list[str]:
    """The session no longer waits for these paths, or for any if there are none; return those that it waited for."""
    rows = await tx.all(
        "delete from lock_waiter where project = $1 and session = $2 and ($3 = 1 or path = any($4)) returning path",
        *(session.project, session.id, int(not paths), list(paths)),
    )
    return sorted(shorten_path(row["path"]) for row in rows)


async def list_free_paths(tx: Tx, session: AgentSession) -> list[str]:
    """The paths that the session will be told are free."""
    rows = await tx.all(
        "select text from notice where project = $1 and session = $2 and substr(id, 1, $4) = $3",
        *(session.project, session.id, FREE_PREFIX, len(FREE_PREFIX)),
    )
    return [row["text"] for row in rows]


async def delete_served_waiters(
    tx: Tx,
    session: AgentSession,
    granted: Sequence[LockRequest],
    waiting: Sequence[str],
    free: Sequence[str],
    fold: bool,
) -> None:
    """The session got these locks: it no longer waits for what they cover, and need not be told that it is free."""
    served = _list_covered(waiting, granted, fold)
    if served:
        await _delete_waiters(tx, session.project, session.id, served)
    if known := _list_covered(free, granted, fold):
        await activity.delete_notices(tx, session, known)


def _list_covered(paths: Sequence[str], granted: Sequence[LockRequest], fold: bool) -> list[str]:
    requests = [LockRequest.from_path(path, "exclusive", fold) for path in paths]
    return [request.path for request in requests if any(grant.covers_request(request) for grant in granted)]


async def delete_waiters_of_session(tx: Tx, project: str, session: str) -> None:
    await tx.queue("delete from lock_waiter where project = $1 and session = $2", project, session)


async def list_waiters(tx: Tx, project: str, store_now: int) -> Sequence[Row]:
    """List who waits at this time of leases, the longest first."""
    return await tx.all(
        "select lock_waiter.session, lock_waiter.path, lock_waiter.agent, lock_waiter.mode, lock_waiter.at"
        " from lock_waiter join session on session.project = $1 and session.id = lock_waiter.session"
        " where lock_waiter.project = $1 and lock_waiter.until > $2 and session.ended_at is null"
        f" and {activity.IS_AWAKE}"
        " order by lock_waiter.at, lock_waiter.path, lock_waiter.session limit $3",
        project,
        store_now,
        _MAX_WAITERS,
    )


async def notify_waiters_of_project(tx: Tx, project: str, now: int) -> list[str]:
    """Notify the waiters whose paths a release made free; return their agents."""
    rows = await list_waiters(tx, project, await tx.clock())
    notified = await _notify_free_waiters(tx, project, rows, now)
    return sorted({row["agent"] for row in rows if row["session"] in notified})


async def _notify_on_activity(
    tx: Tx, session: AgentSession, waiting: Sequence[Row], now: int, store_now: int
) -> bool:
    """Notify the session if what it waits for lapsed meanwhile.

    `waiting` was read before the call, which may have locked or withdrawn some of it.
    """
    if all(row["until"] <= store_now for row in waiting):
        return False
    rows = await _list_waiters_of_session(tx, session, store_now)
    await _notify_free_waiters(tx, session.project, rows, now)
    return bool(rows)


NOTIFY_WAITER = activity.ActivityStep(
    "select session, path, mode, until from lock_waiter where project = $1 and session = $2 order by path",
    _notify_on_activity,
)


async def list_paths_of_session(tx: Tx, session: AgentSession) -> list[str]:
    """What the session waits for."""
    return [row["path"] for row in await _list_waiters_of_session(tx, session, await tx.clock())]


async def _list_waiters_of_session(tx: Tx, session: AgentSession, store_now: int) -> Sequence[Row]:
    return await tx.all(
        "select session, path, mode from lock_waiter where project = $1 and session = $2 and until > $3 order by path",
        *(session.project, session.id, store_now),
    )


async def _delete_waiters(tx: Tx, project: str, session: str, waited_paths: Sequence[str]) -> None:
    await tx.queue(
        "delete from lock_waiter where project = $1 and session = $2 and path = any($3)",
        project,
        session,
        list(waited_paths),
    )


async def _notify_free_waiters(tx: Tx, project: str, rows: Sequence[Row], now: int) -> set[str]:
    """Notify those of the waiting sessions whose paths are free now, and return them."""
    if not rows:
        return set()
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
    notified = set()
    for session, files in free_paths.items():
        await _delete_waiters(tx, project, session, files)
        held = [
            LockRequest.from_path(lease.path, lease.mode, fold)
            for lease in leases
            if lease.session == session and lease.mode == "exclusive"
        ]
        for path in sorted(set(files) - set(_list_covered(files, held, fold))):
            await activity.notify_sessions(tx, project, [session], path, now, FREE_PREFIX)
            notified.add(session)
    return notified
