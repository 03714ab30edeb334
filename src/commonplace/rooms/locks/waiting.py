"""Sessions that asked for a lock in vain, and whose turn it is when the path comes free.

Whoever was refused is told once that the path is free, and for the next 20 s nobody who began to wait later gets it.
The turn of a call that is still waiting (`wait_seconds`) lasts as long again, so that such calls are granted in order. A turn
gives no fencing token, and no promise about exclusion depends on it. Nothing needs a timer: the next call that looks
(a release, a request, activity of somebody who waits) ends turns that were not used.

A session waits until it gets the lock, lets its turn pass, withdraws, ends, or the lease that it met would have lapsed
twice: its holder may renew it once. Asking again does not cost it its place.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from commonplace import activity
from commonplace.clock import MINUTE, SECOND, format_time_of_day, iso
from commonplace.file_region import shorten_path
from commonplace.identity import liveness
from commonplace.identity.session import AgentSession
from commonplace.notices import Notice, drop_notices, is_urgent_mail, list_notices, notify_sessions
from commonplace.rooms.locks import store
from commonplace.rooms.locks.model import (
    DEFAULT_LEASE_MINUTES,
    Lease,
    LeaseMoment,
    LockDecision,
    LockedRegion,
    LockRequest,
    LockWaiter,
)
from commonplace.shortening import list_names, shorten_line
from commonplace.store.database import Row, Tx

TURN = 20 * SECOND
_MAX_WAITERS = 200
_MAX_HOLDERS = 20
_MAX_HOLDERS_NAMED = 3
_MAX_REASON_CHARACTERS = 80
_NO_TOKEN = 0


@dataclass(frozen=True, slots=True)
class Waiter:
    """A session that waits for one path. `turn_until` is 0 until the path is free."""

    session: str
    agent: str
    request: LockRequest
    reason: str
    at: int
    until: int
    turn_until: int
    calls_until: int
    active_at: int

    @classmethod
    def from_row(cls, row: Row, fold: bool) -> "Waiter":
        return cls(
            row["session"],
            row["agent"],
            LockRequest.from_path(row["path"], row["mode"], fold),
            row["reason"],
            row["at"],
            row["until"],
            row["reserved_until"],
            row["calls_until"],
            row["active_at"],
        )

    @property
    def place(self) -> tuple[int, str]:
        return self.at, self.session

    def has_turn(self, now: int) -> bool:
        # The upper bound is for a clock that was set back while no lease kept the time of leases.
        return now < self.turn_until <= now + 2 * TURN

    def conflicts_with(self, lease: Lease) -> bool:
        return lease.session != self.session and self.request.conflicts_with(lease)

    def as_lease(self) -> Lease:
        """What is waited for as a lease, which is compared with requests and shown in conflicts, but never stored."""
        return Lease(
            self.request.path,
            self.request.file,
            self.request.region,
            self.request.pattern,
            self.request.prefix,
            self.session,
            self.agent,
            self.request.mode,
            _NO_TOKEN,
            self.reason,
            TURN,
            self.turn_until - TURN,
            self.turn_until,
            self.active_at,
            is_reservation=True,
        )


async def list_waiters(tx: Tx, project: str, now: int, fold: bool, session: str = "") -> list[Waiter]:
    """List who waits at this time of leases, the longest first; `session` also if it seems to be dormant."""
    rows = await tx.all(
        "select lock_waiter.session, lock_waiter.path, lock_waiter.agent, lock_waiter.mode, lock_waiter.reason,"
        " lock_waiter.at, lock_waiter.until, lock_waiter.reserved_until, lock_waiter.calls_until, session.active_at"
        " from lock_waiter join session on session.project = $1 and session.id = lock_waiter.session"
        " left join api_key on api_key.id = session.key_id"
        " where lock_waiter.project = $1 and lock_waiter.until > $2 and session.ended_at is null"
        f" and api_key.revoked_at is null and (lock_waiter.session = $4 or not {liveness.is_superseded()})"
        " order by lock_waiter.at, lock_waiter.session, lock_waiter.path limit $3",
        *(project, now, _MAX_WAITERS, session),
    )
    return [Waiter.from_row(row, fold) for row in rows]


async def tell_free_paths(tx: Tx, project: str, now: int, asking: str = "") -> tuple[list[Waiter], list[str]]:
    """Begin the turns of those whose paths came free, end those that were not used; return who waits, and who was told.

    `now` is the time on notices. `asking` is the session that requests locks in this call: what it waits for is not
    touched.
    """
    lease_now, fold = await tx.clock(), await store.project_ignores_case(tx, project)
    waiting = await list_waiters(tx, project, lease_now, fold, asking)
    others = [waiter for waiter in waiting if waiter.session != asking]
    untold = [waiter for waiter in others if not waiter.turn_until]
    leases = (
        await store.list_candidate_leases(tx, project, [waiter.request for waiter in untold], fold)
        if untold
        else []
    )
    held = [lease for lease in leases if lease.blocks_others(lease_now)]
    told = []
    for waiter in others:
        calls = waiter.calls_until > lease_now
        if waiter.turn_until:
            if not waiter.has_turn(lease_now) and not calls:
                await delete_waiters(tx, project, waiter.session, [waiter.request.path])
            continue
        turn_until = lease_now + TURN * (2 if calls else 1)
        is_free = not any(map(waiter.conflicts_with, held))
        if is_free and await _begin_turn(tx, project, waiter, turn_until):
            told.append(waiter)
            if not calls:
                await _notify_free(tx, project, waiter, now)
    if told:
        waiting = await list_waiters(tx, project, lease_now, fold, asking)
    return waiting, sorted({waiter.agent for waiter in told})


async def _begin_turn(tx: Tx, project: str, waiter: Waiter, until: int) -> bool:
    """Return False if the session withdrew meanwhile, or another call has begun its turn."""
    changed = await tx.run(
        "update lock_waiter set reserved_until = $4, until = case when until < $4 then $4 else until end"
        " where project = $1 and session = $2 and path = $3 and reserved_until = 0",
        *(project, waiter.session, waiter.request.path, until),
    )
    return bool(changed)


async def _notify_free(tx: Tx, project: str, waiter: Waiter, now: int) -> None:
    path = waiter.request.path
    body = {"path": path, "until": format_time_of_day(now + TURN)}
    await notify_sessions(tx, project, [waiter.session], Notice("free", body, path), now)


async def _tell_on_activity(
    tx: Tx, session: AgentSession, waiting: Sequence[Row], now: int, store_now: int
) -> bool:
    """Notice that a lease lapsed: whoever waits for it is active. `waiting` was read before the call."""
    if all(row["until"] <= store_now for row in waiting):
        return False
    await tell_free_paths(tx, session.project, now)
    return True


TELL_WAITERS = activity.ActivityStep(
    "select until from lock_waiter where project = $1 and session = $2", _tell_on_activity
)


def list_turns(
    waiting: Sequence[Waiter], requests: Sequence[LockRequest], session: str, now: int
) -> list[tuple[LockRequest, Lease]]:
    """The turns of others that refuse these requests: those of sessions that have waited for longer.

    All paths of a request have the place of the one that is waited for longest. So of two sessions that need the same
    paths, and have turns at different ones, one can go on.
    """
    own = [
        waiter.place
        for waiter in waiting
        if waiter.session == session
        and any(
            request.path == waiter.request.path or request.conflicts_with(waiter.as_lease())
            for request in requests
        )
    ]
    return [
        (request, waiter.as_lease())
        for waiter in waiting
        if waiter.session != session and waiter.has_turn(now) and not (own and min(own) < waiter.place)
        for request in requests
        if request.conflicts_with(waiter.as_lease())
    ]


def list_agents_waiting_for(waiting: Sequence[Waiter], granted: Sequence[Lease]) -> list[str]:
    return sorted({waiter.agent for waiter in waiting if any(map(waiter.conflicts_with, granted))})


async def begin_waiting(
    tx: Tx, session: AgentSession, decision: LockDecision, reason: str, store_now: int, now: int, seconds: int
) -> None:
    """Wait for what was refused, and tell the holders who wants their files; about each file once."""
    known = await tx.all(
        "select path from lock_waiter where project = $1 and session = $2 and until > $3 order by path",
        *(session.project, session.id, store_now),
    )
    paths_known = {row["path"] for row in known}
    wanted: dict[str, list[str]] = {}
    for request, lease in decision.conflicts:
        is_held = not lease.is_reservation and lease.blocks_others(store_now)
        if request.path not in paths_known and is_held:
            wanted.setdefault(lease.session, []).append(request.file)
    purpose = shorten_line(reason, _MAX_REASON_CHARACTERS)
    for holder, files in list(wanted.items())[:_MAX_HOLDERS]:
        names = store.format_file_names(list(dict.fromkeys(files)))
        notice = Notice(
            "wanted",
            {"agent": session.agent, "files": names, "reason": purpose},
            f"{session.agent} {names}",
        )
        await notify_sessions(tx, session.project, [holder], notice, now)
    await insert_waiters(tx, session, decision, reason, store_now, now, seconds)


def _waiting_ends_at(leases: Iterable[Lease]) -> int:
    expected = 2 * DEFAULT_LEASE_MINUTES * MINUTE
    return max(lease.expires_at + (expected if lease.is_reservation else lease.ttl) for lease in leases)


async def insert_waiters(
    tx: Tx, session: AgentSession, decision: LockDecision, reason: str, store_now: int, now: int, seconds: int
) -> None:
    """A session that already waits for a path keeps its place, unless its waiting was over. `seconds` is how long its
    call goes on waiting."""
    leases_by_path: dict[str, list[Lease]] = {}
    for request, lease in decision.conflicts:
        leases_by_path.setdefault(request.path, []).append(lease)
    mode = decision.conflicts[0][0].mode
    await tx.many(
        "insert into lock_waiter (project, session, path, agent, mode, reason, at, until, calls_until)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8, $10)"
        " on conflict (project, session, path) do update set mode = excluded.mode, reason = excluded.reason,"
        " at = case when lock_waiter.until <= $9 then excluded.at else lock_waiter.at end,"
        " reserved_until = case when lock_waiter.reserved_until <= $9 then 0 else lock_waiter.reserved_until end,"
        " until = case when lock_waiter.until > excluded.until then lock_waiter.until else excluded.until end,"
        " calls_until = excluded.calls_until",
        [
            (
                *(session.project, session.id, path, session.agent, mode, reason, now),
                *(_waiting_ends_at(leases), store_now, store_now + seconds * SECOND if seconds else 0),
            )
            for path, leases in leases_by_path.items()
        ],
    )


async def settle_waiters(
    tx: Tx,
    session: AgentSession,
    waiting: Sequence[Waiter],
    requests: Sequence[LockRequest],
    granted: Sequence[Lease],
) -> None:
    """The session got these locks: it waits no longer for what they cover, and others who want it wait for this lease.

    Lines whose turn it was and that are asked for a little differently, as by a hook that located them anew, count too.
    """
    for waiter in waiting:
        path = waiter.request.path
        if waiter.session == session.id:
            is_covered = any(grant.covers_request(waiter.request) for grant in requests)
            if is_covered or (waiter.turn_until and any(_meets_in_file(grant, waiter) for grant in requests)):
                await delete_waiters(tx, session.project, session.id, [path])
        elif met := [lease for lease in granted if waiter.conflicts_with(lease)]:
            await tx.queue(
                "update lock_waiter set until = $4, reserved_until = 0 where project = $1 and session = $2 and path = $3",
                *(session.project, waiter.session, path, max(waiter.until, _waiting_ends_at(met))),
            )
            if waiter.turn_until:
                await drop_notices(tx, session.project, "free", sessions=[waiter.session], subjects=[path])
    free = await _list_told_requests(tx, session, requests)
    known = [request.path for request in free if any(grant.covers_request(request) for grant in requests)]
    if known:
        await drop_notices(tx, session.project, "free", sessions=[session.id], subjects=known)


async def _list_told_requests(
    tx: Tx, session: AgentSession, requests: Sequence[LockRequest]
) -> list[LockRequest]:
    """What the session is to be told is free and has not read yet."""
    if not session.has_notice:
        return []
    fold = requests[0].pattern.fold
    notices = await list_notices(tx, session)
    subjects = [notice.subject for notice in notices if notice.kind == "free"]
    return [LockRequest.from_path(subject, "exclusive", fold) for subject in subjects]


def _meets_in_file(grant: LockRequest, waiter: Waiter) -> bool:
    is_same_file = grant.pattern.segments == waiter.request.pattern.segments
    return is_same_file and grant.conflicts_with(waiter.as_lease())


async def delete_waiters(tx: Tx, project: str, session: str, paths: Sequence[str]) -> None:
    await tx.queue(
        "delete from lock_waiter where project = $1 and session = $2 and path = any($3)",
        *(project, session, list(paths)),
    )


async def withdraw_waiters(tx: Tx, session: AgentSession, paths: Sequence[str]) -> list[str]:
    """The session no longer waits for these paths, or for any if there are none; return those that it waited for."""
    rows = await tx.all(
        "delete from lock_waiter where project = $1 and session = $2 and ($3 = 1 or path = any($4)) returning path",
        *(session.project, session.id, int(not paths), list(paths)),
    )
    withdrawn = [row["path"] for row in rows]
    if withdrawn:
        await drop_notices(tx, session.project, "free", sessions=[session.id], subjects=withdrawn)
    return sorted(map(shorten_path, withdrawn))


async def delete_waiters_of_session(tx: Tx, project: str, session: str) -> bool:
    """The session ended; return whether it was its turn somewhere."""
    rows = await tx.all(
        "delete from lock_waiter where project = $1 and session = $2 returning reserved_until",
        project,
        session,
    )
    if rows:
        await drop_notices(tx, project, "free", sessions=[session])
    return any(row["reserved_until"] for row in rows)


async def move_waiters(tx: Tx, session: AgentSession, dormant: Sequence[str]) -> None:
    """The session that starts waits for what these waited for, since they did."""
    rows = await tx.all(
        "delete from lock_waiter where project = $1 and session = any($2)"
        " returning path, mode, reason, at, until, reserved_until",
        *(session.project, list(dormant)),
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


async def find_interruption(tx: Tx, session: AgentSession, holders: Collection[str]) -> str:
    """What must not wait until the end of a wait for a lock; empty if there is nothing of it.

    That is urgent mail, and a holder that waits in turn for a file of this session: neither would get on.
    """
    notices = await list_notices(tx, session)
    if any(is_urgent_mail(notice) for notice in notices):
        return "urgent mail came"
    wanting = {notice.body["agent"] for notice in notices if notice.kind == "wanted"}
    waiting = sorted(wanting & set(holders))
    # A notice may come after the lock that it is about was released.
    if waiting and await tx.one(store.LEASES_OF_SESSION, session.project, session.id) is None:
        return ""
    return f"{waiting[0]} waits for a file that you have locked, so one of you must unlock" if waiting else ""


async def drop_wanted_notices(tx: Tx, session: AgentSession) -> None:
    """The session holds no lock any more: it need not be told that somebody wants its files."""
    if session.has_notice:
        await drop_notices(tx, session.project, "wanted", sessions=[session.id])


def show_waiter(waiter: Waiter, moment: LeaseMoment) -> LockWaiter:
    has_turn = waiter.has_turn(moment.lease)
    return LockWaiter(
        file=waiter.request.file,
        region=LockedRegion.from_region(waiter.request.region),
        agent=waiter.agent,
        since=iso(waiter.at),
        reserved_until=moment.show_time(waiter.turn_until) if has_turn else "",
    )


@dataclass(frozen=True, slots=True)
class WaitingAgent:
    """`holders` is empty if the path is free, so that the agent only has to lock it."""

    agent: str
    path: str
    holders: str
    reason: str
    since: int
    session: str


async def list_waiting_agents(tx: Tx, project: str, session: str = "") -> list[WaitingAgent]:
    """Who waits for which lock and for whom, the longest first; nothing is read but the queue if nobody waits."""
    now, fold = await tx.clock(), await store.project_ignores_case(tx, project)
    waiting = await list_waiters(tx, project, now, fold, session)
    if not waiting:
        return []
    leases = await store.list_candidate_leases(tx, project, [waiter.request for waiter in waiting], fold)
    held = [lease for lease in leases if lease.blocks_others(now)]
    return [
        WaitingAgent(
            waiter.agent,
            shorten_path(waiter.request.path),
            list_names([lease.agent for lease in held if waiter.conflicts_with(lease)], _MAX_HOLDERS_NAMED),
            waiter.reason,
            waiter.at,
            waiter.session,
        )
        for waiter in waiting
    ]
