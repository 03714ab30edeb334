"""What locks contribute to other parts of the server: events, a resource, boot sections, retention; and who changed a
file since the caller last had it.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from msgspec import structs

from commonplace.boot import BootSection, PartialSection, StartingSession, list_topic_words
from commonplace.call import Call
from commonplace.clock import DAY, HOUR, format_age
from commonplace.events import Event, EventType, list_newest_events
from commonplace.file_changes import FileChange
from commonplace.operation import operation
from commonplace.resource import Resource
from commonplace.retention import RetentionRule, Sweep, delete_from_table
from commonplace.rooms.locks import store, waiting
from commonplace.rooms.locks.model import (
    MAX_LISTED_LOCKS,
    ChangedFile,
    Lease,
    LeaseMoment,
    Lock,
    LockListing,
    LockRequest,
)
from commonplace.store.database import Row, Tx, Work
from commonplace.store.shared_reads import run_together

_NO_SESSION = ""


async def _list_locks(call: Call, project: str) -> LockListing:
    """List the locks of a project, newest first."""
    now = await call.tx.clock()
    fold = await store.project_ignores_case(call.tx, project)
    held = await store.list_leases_of_others(call.tx, project, _NO_SESSION, fold, now, MAX_LISTED_LOCKS)
    total = await store.count_leases_of_others(call.tx, project, _NO_SESSION, now)
    moment = LeaseMoment(now, call.now)
    return LockListing(total_count=total, locks=[Lock.from_lease(lease, moment) for lease in held])


read_locks = operation("resource:locks", role="readonly", session=False)(_list_locks)
list_locks = operation("memory_list_locks", role="readonly", session=False, example={"project": "shop"})(
    _list_locks
)

LOCKS = Resource("locks://{project}", "Locks of a project", read_locks)
FILES_LOCKED = EventType("FilesLocked", LOCKS)
FILES_RELEASED = EventType("FilesReleased", LOCKS)
LEASE_TAKEN_OVER = EventType("LeaseTakenOver", LOCKS)


_MAX_LOCKS_IN_BOOT = 20
_MAX_LOCKS_SCANNED = 100


async def list_own_locks(call: Call, start: StartingSession) -> list[dict[str, Any]]:
    """The locks of the sessions that this one continues; memory_lock_files takes them over."""
    earlier = [each.session.id for each in start.earlier_sessions]
    if not earlier:
        return []
    now = await call.tx.clock()
    held = await store.list_leases_of_sessions(call.tx, start.project, earlier, False)
    own = [lease for lease in held if lease.blocks_others(now)]
    waiters = await waiting.list_waiters(call.tx, start.project, now, False) if own else []
    groups = _group_by_holder(own, LeaseMoment(now, call.now), waiters)
    return [
        {name: value for name, value in group.items() if name not in ("held_by", "stale")} for group in groups
    ]


async def list_lock_waits(call: Call, start: StartingSession) -> list[str]:
    """What the sessions that this one continues waited for; it keeps their places."""
    if not start.earlier_sessions:
        return []
    waits = await waiting.list_waiting_agents(call.tx, call.project, call.own_session.id)
    own = [wait for wait in waits if wait.session == call.own_session.id]
    return [
        f"{wait.path} ({f'held by {wait.holders}' if wait.holders else 'free'})"
        for wait in own[:_MAX_LOCKS_IN_BOOT]
    ]


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
    leases: Sequence[Lease], moment: LeaseMoment, waiters: Sequence[waiting.Waiter] = ()
) -> list[dict[str, Any]]:
    """One entry for each holder and reason, with all of its files, and who waits for them."""
    groups: dict[tuple[str, str], list[Lease]] = defaultdict(list)
    for lease in leases:
        groups[lease.agent, lease.reason].append(lease)
    return [
        {"held_by": agent, "files": sorted(lease.name for lease in held)}
        | ({"reason": reason} if reason else {})
        | {"expires_at": moment.show_time(max(lease.expires_at for lease in held))}
        | ({"wanted_by": wanting} if (wanting := waiting.list_agents_waiting_for(waiters, held)) else {})
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


_MAX_LOCK_EVENTS = 100
_LOCK_WINDOW = HOUR


async def list_changed_files(call: Call, files: Sequence[str]) -> list[ChangedFile]:
    """List those of the files that another agent changed, or had locked, since the caller last had them.

    Not every change is reported, and some are reported late: who had the file locked last decides, where that is known.
    """
    kinds = (FILES_LOCKED.name, FILES_RELEASED.name)
    works: list[Work[Any]] = [
        *(
            lambda tx, list_changes=list_changes: list_changes(structs.replace(call, tx=tx), files)
            for list_changes in call.catalogue.file_changes
        ),
        lambda tx: list_newest_events(tx, call.project, kinds, call.now - _LOCK_WINDOW, _MAX_LOCK_EVENTS),
    ]
    *changes, newest_first = await run_together(call.tx, works)
    change_by_file = {change.file: change for found in reversed(changes) for change in reversed(found)}
    named = (_name_last_editor(call, file, change_by_file.get(file), newest_first) for file in files)
    return [changed for changed in named if changed]


def _name_last_editor(
    call: Call, file: str, change: FileChange | None, newest_first: Sequence[Event]
) -> ChangedFile | None:
    locks = [event for event in newest_first if _names_file(event, file)]
    own = next((event for event in locks if _name_locker(event) == call.agent), None)
    if own is None and change is None:
        return None
    since = own.n if own else 0
    held = [
        event
        for event in locks
        if event.n > since
        and _name_locker(event) != call.agent
        and not _was_shared(locks, _name_locker(event))
    ]
    if held and (change is None or (held[0].at > change.at and _name_locker(held[0]) != change.agent)):
        return ChangedFile(
            file=file, last_locked_by=_name_locker(held[0]), age=format_age(held[0].at, call.now)
        )
    if change is None or (own and not held and _is_reported_late(change, own, locks)):
        return None
    return ChangedFile(file=file, changed_by=change.agent, age=format_age(change.at, call.now))


def _is_reported_late(change: FileChange, own: Event, locks: Sequence[Event]) -> bool:
    """Had its author the file locked before the caller, and not since? Then the caller has seen the change."""
    return change.at <= own.at or any(_name_locker(event) == change.agent for event in locks)


def _name_locker(event: Event) -> str:
    return str(event.body.get("agent", event.actor))


def _was_shared(locks: Sequence[Event], agent: str) -> bool:
    """Was the last lock of this agent one for readers?"""
    modes = (lock.body.get("mode") for lock in locks if _name_locker(lock) == agent)
    return next((mode for mode in modes if mode), "") == "shared"


def _names_file(event: Event, file: str) -> bool:
    return any(_includes_file(name, file) for name in event.body["files"])


# Every lock of a busy file compares it with the same names of the last hour, while other writers wait.
@lru_cache(maxsize=4_096)
def _includes_file(name: str, file: str) -> bool:
    """Whether the name is the file, a part of it, or a directory or pattern that it is in."""
    if name.startswith((f"{file}:", f"{file}#")):
        return True
    return LockRequest.from_path(name, "exclusive", fold=False).overlaps_path(file, fold=False)


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
