"""The queue for locks: a path that comes free is reserved for a short time for whoever has waited for it longest.

Reservations are for fairness only. They hand out no fencing token, and no promise about exclusion depends on them. A
reservation that is not used ends without a timer: the next call that looks at the queue (a release, a request for the
path, activity of somebody who waits) deletes it and reserves the path for the next one. Who waits: `waiters.py`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from commonplace import activity
from commonplace.clock import SECOND, format_time_of_day
from commonplace.file_region import shorten_path
from commonplace.identity.session import AgentSession
from commonplace.notices import Notice, drop_notices, notify_sessions
from commonplace.rooms.locks import store, waiters
from commonplace.rooms.locks.lease import Lease, LockRequest
from commonplace.store.database import Row, Tx

_NO_TOKEN = 0
LOCK_RESERVATION = 60 * SECOND
"""How long a path that came free is reserved for the session that is told of it."""
_ENDED = "{path} was reserved for you until {until}, and you did not lock it: call memory_lock_files again."


@dataclass(frozen=True, slots=True)
class Waiter:
    """A session that waits for one path, or for which it is reserved."""

    session: str
    agent: str
    request: LockRequest
    reason: str
    at: int
    until: int
    reserved_until: int
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
            row["active_at"],
        )

    @property
    def place(self) -> tuple[int, str]:
        return self.at, self.session

    def has_reservation(self, now: int) -> bool:
        # The upper bound is for a clock that was set back while no lease kept the time of leases.
        return now < self.reserved_until <= now + LOCK_RESERVATION

    def lost_reservation(self, now: int) -> bool:
        return self.reserved_until > 0 and not self.has_reservation(now)

    def conflicts_with(self, lease: Lease) -> bool:
        return lease.session != self.session and self.request.conflicts_with(lease)

    def meets_any(self, requests: Sequence[LockRequest]) -> bool:
        lease = self.as_lease()
        return any(request.path == lease.path or request.conflicts_with(lease) for request in requests)

    def as_lease(self) -> Lease:
        """What is waited for as a lease, which is compared with requests and shown in conflicts, but never stored."""
        request = self.request
        return Lease(
            request.path,
            request.file,
            request.region,
            request.pattern,
            request.prefix,
            self.session,
            self.agent,
            request.mode,
            _NO_TOKEN,
            self.reason,
            LOCK_RESERVATION,
            self.reserved_until - LOCK_RESERVATION,
            self.reserved_until,
            self.active_at,
            is_reservation=True,
        )


@dataclass(slots=True)
class LockQueue:
    """Who waits in a project, the longest first; `offered` and `lost` are what `offer_free_paths` changed."""

    waiters: list[Waiter] = field(default_factory=list)
    offered: list[Waiter] = field(default_factory=list)
    lost: list[Waiter] = field(default_factory=list)

    def list_conflicts(
        self, requests: Sequence[LockRequest], session: str, now: int
    ) -> list[tuple[LockRequest, Lease]]:
        """The reservations of others that refuse these requests, without those of somebody who began to wait later.

        All paths of a request have the place of the one that is waited for longest. So of two sessions that need the
        same paths, and have reservations of different ones, one can go on.
        """
        place = self._find_place(requests, session)
        reserved = [
            waiter.as_lease()
            for waiter in self.waiters
            if waiter.session != session
            and waiter.has_reservation(now)
            and (place is None or waiter.place < place)
        ]
        return [
            (request, lease) for lease in reserved for request in requests if request.conflicts_with(lease)
        ]

    def _find_place(self, requests: Sequence[LockRequest], session: str) -> tuple[int, str] | None:
        own = [waiter for waiter in self.waiters if waiter.session == session]
        return min((waiter.place for waiter in own if waiter.meets_any(requests)), default=None)

    def count_waiting_before(
        self, conflicts: Iterable[tuple[LockRequest, Lease]], session: str, now: int
    ) -> int:
        """How many sessions wait for one of these and began earlier, without those that are shown as conflicts."""
        places = {mine.request.path: mine.place for mine in self.waiters if mine.session == session}
        wanted = {request.path: request for request, _ in conflicts}.values()
        return len(
            {
                waiter.session
                for waiter in self.waiters
                if waiter.session != session and not waiter.has_reservation(now)
                for request in wanted
                if request.conflicts_with(waiter.as_lease())
                and waiter.place < places.get(request.path, (waiter.at + 1, ""))
            }
        )

    @property
    def has_changed(self) -> bool:
        return bool(self.offered or self.lost)

    def list_offered_agents(self) -> list[str]:
        return sorted({waiter.agent for waiter in self.offered})

    def list_agents_waiting_for(self, granted: Sequence[Lease]) -> list[str]:
        return sorted({waiter.agent for waiter in self.waiters if any(map(waiter.conflicts_with, granted))})

    def meets_others(self, requests: Sequence[LockRequest], session: str, now: int) -> bool:
        """Does another session wait for something in these requests, or did a reservation of this one end?"""
        return any(
            waiter.meets_any(requests) if waiter.session != session else waiter.lost_reservation(now)
            for waiter in self.waiters
        )


async def load_queue(tx: Tx, session: AgentSession, fold: bool, lease_now: int) -> LockQueue:
    """Read who waits; the waits of this session also if it seems to be dormant, because it makes this call."""
    rows = await waiters.list_waiters(tx, session.project, lease_now, session.id)
    return LockQueue([Waiter.from_row(row, fold) for row in rows])


async def offer_in_project(tx: Tx, project: str, now: int) -> LockQueue:
    """Reserve what came free in a project; `now` is the time on notices."""
    lease_now = await tx.clock()
    rows = await waiters.list_waiters(tx, project, lease_now)
    if not rows:
        return LockQueue()
    fold = await store.project_ignores_case(tx, project)
    queue = LockQueue([Waiter.from_row(row, fold) for row in rows])
    return await offer_free_paths(tx, project, queue, fold, lease_now, now)


async def _offer_on_activity(
    tx: Tx, session: AgentSession, waiting: Sequence[Row], now: int, store_now: int
) -> bool:
    """Notice that a lease lapsed, or that a reservation was not used: whoever waits for it is active.

    `waiting` was read before the call, which may have locked or withdrawn some of it.
    """
    if all(row["until"] <= store_now for row in waiting):
        return False
    await offer_in_project(tx, session.project, now)
    return True


OFFER_TO_WAITERS = activity.ActivityStep(
    "select until from lock_waiter where project = $1 and session = $2", _offer_on_activity
)


async def offer_free_paths(
    tx: Tx, project: str, queue: LockQueue, fold: bool, lease_now: int, now: int, asking: str = ""
) -> LockQueue:
    """End the reservations that were not used, reserve what is free for whoever waited longest, and tell them.

    `asking` is the session that requests locks in this call: it keeps its place, but is not told of what it asks for.
    """
    lost = [waiter for waiter in queue.waiters if waiter.lost_reservation(lease_now)]
    waiting = [waiter for waiter in queue.waiters if waiter not in lost]
    open_requests = [waiter.request for waiter in waiting if not waiter.has_reservation(lease_now)]
    candidates = await store.list_candidate_leases(tx, project, open_requests, fold) if open_requests else []
    leases = [lease for lease in candidates if lease.blocks_others(lease_now)]
    served, offered = _choose_next(waiting, leases, lease_now, fold)
    await _end_reservations(tx, project, lost, now, asking)
    for waiter in served:
        await waiters.delete_waiters(tx, project, waiter.session, [waiter.request.path])
    told = [
        waiter
        for waiter in offered
        if waiter.session != asking and await _store_reservation(tx, project, waiter, now)
    ]
    by_row = {(waiter.session, waiter.request.path): waiter for waiter in offered}
    after = [by_row.get((each.session, each.request.path), each) for each in waiting if each not in served]
    return LockQueue(after, told, lost)


def _choose_next(
    waiting: Sequence[Waiter], leases: Sequence[Lease], now: int, fold: bool
) -> tuple[list[Waiter], list[Waiter]]:
    """Those who already hold what they waited for, and those for whom it is reserved from now on."""
    reserved = [waiter.as_lease() for waiter in waiting if waiter.has_reservation(now)]
    served: list[Waiter] = []
    offered: list[Waiter] = []
    for waiter in waiting:
        if waiter.has_reservation(now) or any(map(waiter.conflicts_with, leases)):
            continue
        if _holds_already(waiter, leases, fold):
            served.append(waiter)
        elif not any(map(waiter.conflicts_with, reserved)):
            offered.append(replace(waiter, reserved_until=now + LOCK_RESERVATION))
            reserved.append(offered[-1].as_lease())
    return served, offered


def _holds_already(waiter: Waiter, leases: Sequence[Lease], fold: bool) -> bool:
    return any(
        LockRequest.from_path(lease.path, lease.mode, fold).covers_request(waiter.request)
        for lease in leases
        if lease.session == waiter.session and lease.mode == "exclusive"
    )


async def _store_reservation(tx: Tx, project: str, waiter: Waiter, now: int) -> bool:
    """Return False if the session withdrew meanwhile, or another call has reserved the path for it."""
    changed = await tx.run(
        "update lock_waiter set reserved_until = $4, until = case when until < $4 then $4 else until end"
        " where project = $1 and session = $2 and path = $3 and reserved_until = 0",
        *(project, waiter.session, waiter.request.path, waiter.reserved_until),
    )
    if changed:
        path = waiter.request.path
        body = {
            "path": path,
            "until": format_time_of_day(now + LOCK_RESERVATION),
            "seconds": LOCK_RESERVATION // SECOND,
        }
        await notify_sessions(tx, project, [waiter.session], Notice("free", body, path), now)
    return bool(changed)


async def _end_reservations(tx: Tx, project: str, lost: Sequence[Waiter], now: int, asking: str) -> None:
    """Who did not use its reservation does not wait any more. If it has not read of it, it is told how it ended."""
    for waiter in lost:
        path = waiter.request.path
        await waiters.delete_waiters(tx, project, waiter.session, [path])
        unread = await waiters.take_free_notice(tx, project, waiter.session, path)
        if unread and waiter.session != asking:
            until = format_time_of_day(unread["at"] + LOCK_RESERVATION)
            text = _ENDED.format(path=shorten_path(path), until=until)
            await notify_sessions(tx, project, [waiter.session], text, now)


async def keep_others_waiting(
    tx: Tx, session: AgentSession, queue: LockQueue, granted: Sequence[Lease]
) -> None:
    """Others who wait for what was granted wait for this lease now: until it would have lapsed twice."""
    for waiter in queue.waiters:
        if waiter.session == session.id:
            continue
        met = [lease for lease in granted if waiter.conflicts_with(lease)]
        if not met:
            continue
        until = max(waiter.until, waiters.waiting_ends_at(met))
        await tx.queue(
            "update lock_waiter set until = $4, reserved_until = 0 where project = $1 and session = $2 and path = $3",
            *(session.project, waiter.session, waiter.request.path, until),
        )
        if waiter.reserved_until:
            await waiters.take_free_notice(tx, session.project, waiter.session, waiter.request.path)


async def delete_served_waiters(
    tx: Tx,
    session: AgentSession,
    queue: LockQueue,
    granted: Sequence[LockRequest],
    free: Sequence[str],
    fold: bool,
) -> None:
    """The session got these locks: it no longer waits for what they cover, and need not be told that it is free.

    Lines that were reserved and are asked for a little differently, as by a hook that located them anew, count too.
    """
    requests = [LockRequest.from_path(path, "exclusive", fold) for path in free]
    own = [waiter for waiter in queue.waiters if waiter.session == session.id]
    served = [
        waiter.request.path
        for waiter in own
        if any(grant.covers_request(waiter.request) for grant in granted)
        or (waiter.reserved_until and any(_meets_in_file(grant, waiter) for grant in granted))
    ]
    if served:
        await waiters.delete_waiters(tx, session.project, session.id, served)
    known = [request.path for request in requests if any(grant.covers_request(request) for grant in granted)]
    if dropped := {*known, *served} & set(free):
        await drop_notices(tx, session.project, "free", sessions=[session.id], subjects=sorted(dropped))


def _meets_in_file(grant: LockRequest, waiter: Waiter) -> bool:
    is_same_file = grant.pattern.segments == waiter.request.pattern.segments
    return is_same_file and grant.conflicts_with(waiter.as_lease())
