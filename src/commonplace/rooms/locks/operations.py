"""Lock, unlock, and see what is locked."""

from collections import defaultdict
from collections.abc import Sequence

from commonplace import activity, errors, events
from commonplace.call import Call, Later
from commonplace.clock import MINUTE
from commonplace.operation import operation
from commonplace.rooms.locks import lease as leases
from commonplace.rooms.locks import paths, store
from commonplace.rooms.locks.lease import Decision, Lease, Mode, Terms, Wish
from commonplace.rooms.locks.model import (
    MAX_HELD,
    MAX_SHOWN,
    FilePath,
    Files,
    Grant,
    Lock,
    Locked,
    Locks,
    Minutes,
    OwnLock,
    Reason,
    Taken,
    Unlocked,
    WaitSeconds,
)

_LOOKS = 5


@operation(
    "memory_lock_files",
    writes=True,
    example={"files": ["src/app.py", "docs/"], "reason": "rename"},
    verbatim=("files",),
)
async def lock_files(
    call: Call,
    files: Files,
    reason: Reason = "",
    minutes: Minutes = 30,
    mode: Mode = "exclusive",
    wait_seconds: WaitSeconds = 0,
) -> Locked:
    """Lock files, dirs (dir/) or globs before editing: all or nothing. Your calls renew the lease."""
    wanted = _canonical(call, files)
    last = await events.count(call.tx, call.project, "lease", len(wanted))
    now = await call.tx.clock()
    ground = await store.ground(call.tx, call.project, call.own_session.id)
    wishes = [Wish.of(path, mode, ground.fold) for path in wanted]
    decision = await _decide(call, wishes, ground.fold, now)
    if decision.conflicts:
        return _refused(call, decision, len(wanted), wait_seconds, now)
    if ground.held + len(wanted) - len(decision.held) > MAX_HELD:
        raise errors.TooMany(
            f"A session holds {MAX_HELD:,} locks at most.", hint="Lock the directory instead."
        )
    await _take_over(call, list(decision.lapsed.values()), now)
    terms = Terms(call.own_session.id, call.agent, mode, reason, minutes * MINUTE, now)
    first = last - len(wanted) + 1
    granted = [
        leases.granted(wish, decision.held.get(wish.path), leases.token(ground.epoch, first + place), terms)
        for place, wish in enumerate(wishes)
    ]
    await store.put(call.tx, call.project, granted)
    call.subject = f"{mode} {store.named(wanted)}"
    call.emit("FilesLocked", _uri(call), files=[lease.path for lease in granted], mode=mode)
    return Locked(success=True, locked=[Grant.of(lease) for lease in granted])


@operation("memory_unlock_files", writes=True, idempotent=True, verbatim=("files",))
async def unlock_files(call: Call, files: Files | None = None) -> Unlocked:
    """Release your locks; without files, all."""
    now = await call.tx.clock()
    fold = await store.ignores_case(call.tx, call.project)
    held = {
        lease.pattern.segments: lease
        for lease in await store.of_session(call.tx, call.project, call.own_session.id, fold)
    }
    wanted = (
        {path: paths.parse(path, (), fold).segments for path in _canonical(call, files)}
        if files
        else {lease.path: key for key, lease in held.items()}
    )
    released = [held.pop(key) for key in dict.fromkeys(wanted.values()) if key in held]
    if released:
        await store.remove(call.tx, call.project, released)
    alive = [lease.path for lease in released if lease.blocks(now)]
    if alive:
        call.subject = store.named(alive)
        call.emit("FilesReleased", _uri(call), files=alive)
    freed = {lease.pattern.segments for lease in released if lease.blocks(now)}
    return Unlocked(
        released=alive,
        still_held=[lease.path for lease in held.values() if lease.blocks(now)],
        not_held=[path for path, key in wanted.items() if key not in freed],
    )


@operation("memory_get_locks", role="readonly")
async def get_locks(call: Call, path_pattern: FilePath | None = None) -> Locks:
    """Who has locked what, by path, dir or glob."""
    now = await call.tx.clock()
    fold = await store.ignores_case(call.tx, call.project)
    session = call.own_session.id
    if path_pattern is None:
        own = await store.of_session(call.tx, call.project, session, fold)
        others = await store.of_others(call.tx, call.project, session, fold, now, MAX_SHOWN)
        total = len(others)
        if total == MAX_SHOWN:
            total = await store.count_of_others(call.tx, call.project, session, now)
    else:
        met = await _meeting(call, path_pattern, fold)
        own = [lease for lease in met if lease.session == session]
        others = [lease for lease in met if lease.session != session and lease.blocks(now)]
        total = len(others)
    mine = [lease for lease in own if lease.blocks(now)]
    return Locks(
        total_count=total + len(mine),
        locks=[Lock.of(lease, now) for lease in others[:MAX_SHOWN]],
        your_locks=[OwnLock.of(lease) for lease in mine[:MAX_SHOWN]],
    )


def _uri(call: Call) -> str:
    return f"locks://{call.project}"


def _canonical(call: Call, files: Sequence[str]) -> list[str]:
    directory = call.own_session.working_directory
    return list(dict.fromkeys(paths.canonical(path, directory) for path in files))


async def _decide(call: Call, wishes: Sequence[Wish], fold: bool, now: int) -> Decision:
    """Look again if a lapsed holder comes back in the very moment."""
    for _ in range(_LOOKS):
        around = await store.around(call.tx, call.project, wishes, fold)
        decision = leases.decide(wishes, around, call.own_session.id, now)
        if decision.conflicts or await store.hold_lapsed(
            call.tx, call.project, decision.lapsed.values(), now
        ):
            return decision
    raise errors.Unavailable("The locks there change too quickly.", hint="Try again.")


def _refused(call: Call, decision: Decision, asked: int, wait_seconds: int, now: int) -> Locked:
    conflicts = [
        Taken.of(wish, lease, call.project, now) for wish, lease in decision.conflicts[: leases.ENOUGH]
    ]
    files = len({conflict.file for conflict in conflicts})
    answer = Locked(
        success=False,
        conflicts=conflicts,
        message=f"{files} of {asked} not free; nothing was locked.",
    )
    if wait_seconds:
        raise Later(call, answer, wait_seconds)
    call.subject = answer.message
    return answer


async def _take_over(call: Call, lapsed: Sequence[Lease], now: int) -> None:
    if not lapsed:
        return
    await store.remove(call.tx, call.project, lapsed)
    lost: dict[str, list[str]] = defaultdict(list)
    for lease in lapsed:
        if not lease.ended:
            lost[lease.session].append(lease.path)
    for session, files in lost.items():
        text = f"{call.agent} took over your lapsed lock on {store.named(files)}."
        await activity.tell(call.tx, call.project, [session], text, now)
    call.emit(
        "LeaseTakenOver",
        _uri(call),
        files=[lease.path for lease in lapsed],
        held_by=sorted({lease.agent for lease in lapsed}),
    )


async def _meeting(call: Call, path_pattern: str, fold: bool) -> list[Lease]:
    """The leases that the pattern meets, newest first; a plain path also means everything below it."""
    path = paths.canonical(path_pattern, call.own_session.working_directory)
    wish = Wish.of(path, "exclusive", fold)
    if not wish.has_below:
        wish = Wish.of(f"{path}/", "exclusive", fold)
    around = await store.around(call.tx, call.project, [wish], fold)
    met = [lease for lease in around if wish.excludes(lease)]
    return sorted(met, key=lambda lease: -lease.token)
