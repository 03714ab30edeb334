"""Sessions that asked for a lock in vain: they are told once when the path comes free, and others see that they wait.

A session waits until it gets the lock, ends, or the lease that it met would have lapsed twice: its holder may renew it
once. A release checks the waiters of its project; a lease that lapses silently is noticed by the waiter's own activity.
"""

from collections.abc import Collection, Iterable, Sequence

from commonplace import activity
from commonplace.activity import AgentSession
from commonplace.named_notices import delete_notices_by_prefix
from commonplace.notice import is_urgent_mail
from commonplace.rooms.locks import store
from commonplace.rooms.locks.lease import Lease, LockDecision, LockRequest
from commonplace.shortening import shorten_line
from commonplace.store.database import Row, Tx

_MAX_WAITERS = 200
_MAX_FILES_NAMED = 5
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
    known = {row["path"] for row in await list_paths_of_session(tx, session)}
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
        return "urgent mail"
    wanted = [row["text"] for row in rows if row["id"].startswith(_WANTED_PREFIX)]
    waiting = [name for name in sorted(holders) if any(text.startswith(f"{name} wants ") for text in wanted)]
    return f"{waiting[0]} waits for a file that you have locked" if waiting else ""


async def drop_wanted_notices(tx: Tx, session: AgentSession) -> None:
    """The session holds no lock any more: it need not be told that somebody wants its files."""
    if session.has_notice:
        await delete_notices_by_prefix(tx, session, _WANTED_PREFIX)


async def withdraw_waiters(tx: Tx, session: AgentSession, paths: Sequence[str]) -> None:
    """The session no longer waits for these paths, or for any if there are none."""
    if paths:
        await _delete_waiters(tx, session.project, session.id, paths)
    else:
        await delete_waiters_of_session(tx, session.project, session.id)


async def delete_served_waiters(
    tx: Tx, session: AgentSession, granted: Sequence[LockRequest], waiting: Sequence[Row], fold: bool
) -> None:
    """The session got these locks: it no longer waits for what they cover, and need not be told that it is free."""
    await activity.delete_notices(tx, session, list_free_notices([grant.path for grant in granted]))
    requests = [LockRequest.from_path(row["path"], row["mode"], fold) for row in waiting]
    served = [request.path for request in requests if any(grant.covers_request(request) for grant in granted)]
    if served:
        await _delete_waiters(tx, session.project, session.id, served)


async def delete_waiters_of_session(tx: Tx, project: str, session: str) -> None:
    await tx.queue("delete from lock_waiter where project = $1 and session = $2", project, session)


async def list_waiters(tx: Tx, project: str, store_now: int) -> Sequence[Row]:
    """List who waits at this time of leases, the longest first."""
    return await tx.all(
        "select lock_waiter.session, lock_waiter.path, lock_waiter.agent, lock_waiter.mode, lock_waiter.at"
        " from lock_waiter join session on session.project = $1 and session.id = lock_waiter.session"
        " where lock_waiter.project = $1 and lock_waiter.until > $2 and session.ended_at is null"
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
    """Notify the session if what it waits for lapsed meanwhile."""
    rows = [row for row in waiting if row["until"] > store_now]
    await _notify_free_waiters(tx, session.project, rows, now)
    return bool(rows)


NOTIFY_WAITER = activity.ActivityStep(
    "select session, path, mode, until from lock_waiter where project = $1 and session = $2 order by path",
    _notify_on_activity,
)


async def list_paths_of_session(tx: Tx, session: AgentSession) -> Sequence[Row]:
    """What the session waits for."""
    return await tx.all(
        "select session, path, mode from lock_waiter where project = $1 and session = $2 and until > $3 order by path",
        session.project,
        session.id,
        await tx.clock(),
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
    for session, files in free_paths.items():
        await activity.notify_sessions(tx, project, [session], format_free_notice(files), now)
        await _delete_waiters(tx, project, session, files)
    return set(free_paths)


def list_free_notices(paths: Sequence[str]) -> list[str]:
    """The notices that tell that these paths are free, each by itself or together."""
    return [*(format_free_notice([path]) for path in paths), format_free_notice(paths)]


def format_free_notice(files: Sequence[str]) -> str:
    """A region is named as it was asked for, with its version, so that the same lines can be locked."""
    verb, pronoun = ("is", "it") if len(files) == 1 else ("are", "them")
    listed, more = sorted(files)[:_MAX_FILES_NAMED], len(files) - _MAX_FILES_NAMED
    names = ", ".join(listed) + (f" and {more} more" if more > 0 else "")
    return f"{names} {verb} free now but not reserved for you: lock {pronoun} with memory_lock_files."
