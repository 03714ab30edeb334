"""The boot sections `your_locks`, what earlier sessions of the agent hold, `waiting_for_locks`, what they waited for, and
`relevant_locks`, the locks of others near the task, by holder."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from commonplace.boot import BootSection, PartialSection, StartingSession, list_topic_words
from commonplace.call import Call
from commonplace.file_region import shorten_path
from commonplace.rooms.locks import reservations, store
from commonplace.rooms.locks.lease import Lease, LeaseMoment
from commonplace.rooms.locks.reservations import LockQueue, Waiter
from commonplace.shortening import list_names

_MAX_LOCKS_IN_BOOT = 20
_MAX_LOCKS_SCANNED = 100
_MAX_HOLDERS = 3


async def list_own_locks(call: Call, start: StartingSession) -> list[dict[str, Any]]:
    """The locks of the sessions that this one continues; memory_lock_files takes them over."""
    earlier = [each.session.id for each in start.earlier_sessions]
    if not earlier:
        return []
    now = await call.tx.clock()
    held = await store.list_leases_of_sessions(call.tx, start.project, earlier, False)
    own = [lease for lease in held if lease.blocks_others(now)]
    if not own:
        return []
    queue = await reservations.load_queue(call.tx, call.own_session, False, now)
    return [
        {name: value for name, value in group.items() if name not in ("held_by", "stale")}
        for group in _group_by_holder(own, LeaseMoment(now, call.now), queue)
    ]


async def list_lock_waits(call: Call, start: StartingSession) -> list[str]:
    """What the sessions that this one continues waited for, with its place, which it keeps."""
    if not start.earlier_sessions:
        return []
    now, session = await call.tx.clock(), call.own_session
    queue = await reservations.load_queue(call.tx, session, False, now)
    own = [waiter for waiter in queue.waiters if waiter.session == session.id]
    if not own:
        return []
    requests = [waiter.request for waiter in own]
    leases = await store.list_candidate_leases(call.tx, call.project, requests, False)
    alive = [lease for lease in leases if lease.blocks_others(now)]
    moment = LeaseMoment(now, call.now)
    return [_describe_wait(waiter, queue, alive, moment) for waiter in own[:_MAX_LOCKS_IN_BOOT]]


def _describe_wait(waiter: Waiter, queue: LockQueue, leases: Sequence[Lease], moment: LeaseMoment) -> str:
    name = shorten_path(waiter.request.path)
    if waiter.has_reservation(moment.lease):
        return f"{name} (reserved for you until {moment.show_time(waiter.reserved_until)})"
    met = [(waiter.request, lease) for lease in leases if waiter.conflicts_with(lease)]
    holders = list_names([lease.agent for _, lease in met], _MAX_HOLDERS)
    before = queue.count_waiting_before([(waiter.request, waiter.as_lease())], waiter.session, moment.lease)
    state = f"held by {holders}" if holders else "free"
    return f"{name} ({state}, {before} before you)"


async def list_relevant_locks(call: Call, start: StartingSession) -> PartialSection:
    now = await call.tx.clock()
    leases = await store.list_leases_of_others(
        call.tx, start.project, start.session, False, now, _MAX_LOCKS_SCANNED
    )
    own = {each.session.id for each in start.earlier_sessions}
    others = [lease for lease in leases if lease.session not in own]
    near = _filter_near_leases(others, start)[: start.scale_limit(_MAX_LOCKS_IN_BOOT)]
    return PartialSection(_group_by_holder(near, LeaseMoment(now, call.now)), len(others) - len(near))


def _filter_near_leases(leases: Sequence[Lease], start: StartingSession) -> list[Lease]:
    """Those below the working directory first, then those about the task; all of them if the task is unknown."""
    roots, words = _list_possible_roots(start.working_directory), start.topic_words
    below = [lease for lease in leases if _is_below_any(lease, roots)]
    rest = [lease for lease in leases if lease not in below]
    return below + [lease for lease in rest if not words or words & list_topic_words(lease.name)]


def _group_by_holder(
    leases: Sequence[Lease], moment: LeaseMoment, queue: LockQueue | None = None
) -> list[dict[str, Any]]:
    """One entry for each holder and reason, with all of its files, and who waits for them."""
    groups: dict[tuple[str, str], list[Lease]] = defaultdict(list)
    for lease in leases:
        groups[lease.agent, lease.reason].append(lease)
    return [
        {"held_by": agent, "files": sorted(lease.name for lease in held)}
        | ({"reason": reason} if reason else {})
        | {"expires_at": moment.show_time(max(lease.expires_at for lease in held))}
        | ({"wanted_by": waiting} if queue and (waiting := queue.list_agents_waiting_for(held)) else {})
        | ({"stale": True} if all(lease.is_stale(moment) for lease in held) else {})
        for (agent, reason), held in groups.items()
    ]


def _list_possible_roots(directory: str) -> list[str]:
    """List what the directory may be called in lock paths: `/me/shop/api` may be `api/` or `shop/api/`."""
    names = [name for name in directory.replace("\\", "/").casefold().split("/") if name]
    return ["/".join(names[index:]) + "/" for index in range(len(names))]


def _is_below_any(lease: Lease, roots: list[str]) -> bool:
    return any(lease.prefix.startswith(root) for root in roots)


YOUR_LOCKS_SECTION = BootSection("your_locks", 1, list_own_locks)
LOCK_WAITS_SECTION = BootSection("waiting_for_locks", 2, list_lock_waits)
RELEVANT_LOCKS_SECTION = BootSection("relevant_locks", 40, list_relevant_locks)
