"""Lock files or regions of them, unlock them, and list locks.

`granting.py` grants, `lease.py` decides what may be granted, `paths.py` compares paths, `file_region.py` regions, `store.py`
has the SQL. `releases.py` is for people who release what an agent holds.
"""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from commonplace import errors
from commonplace.call import Call
from commonplace.clock import MINUTE
from commonplace.file_region import shorten_path
from commonplace.identity.acting import no_session
from commonplace.identity.liveness import list_dormant_sessions
from commonplace.operation import operation
from commonplace.rooms.locks import lease as leases
from commonplace.rooms.locks import reservations, store, waiters
from commonplace.rooms.locks.claimed_files import list_changed_files
from commonplace.rooms.locks.events import FILES_LOCKED, FILES_RELEASED
from commonplace.rooms.locks.granting import (
    ask_queue,
    canonicalize_files,
    decide_under_contention,
    list_dormant_holders,
    load_lock_state,
    store_grants,
    take_over_leases,
)
from commonplace.rooms.locks.holders import Holders, describe_holders
from commonplace.rooms.locks.lease import Lease, LeaseMoment, LeaseTerms, LockDecision, LockMode, LockRequest
from commonplace.rooms.locks.model import (
    MAX_LISTED_LOCKS,
    MAX_LOCKS_PER_SESSION,
    ChangedFile,
    LeaseMinutes,
    Lock,
    LockConflict,
    LockFilesReply,
    LockGrant,
    LockListing,
    LockPath,
    LockPaths,
    LockReason,
    LockWaiter,
    LockWaitSeconds,
    OwnLock,
    UnlockFilesReply,
)
from commonplace.rooms.locks.reservations import LockQueue
from commonplace.store.counters import advance_counter
from commonplace.store.database import Row, Tx, Work
from commonplace.store.shared_reads import run_together
from commonplace.waiting import WaitForEvents

_TOLD_WHEN_RESERVED = (
    "notice tells you when {pronoun} reserved for you: call again then (memory_unlock_files withdraws this)."
)
_WAIT_OR_WORK = "Do other work, or call again with wait_seconds."
_WAIT_ON_OR_WORK = "Do other work, or call again to go on waiting."


@operation(
    "memory_lock_files",
    writes=True,
    example={"files": ["src/app.py", "docs/"], "reason": "rename"},
    verbatim=("files",),
    keywords="reserve, claim, acquire, hold, protect, exclusive access, avoid conflicts",
)
async def lock_files(
    call: Call,
    files: Annotated[LockPaths, Field(description="Paths, dir/, globs, a.py#f.")],
    reason: LockReason = "",
    minutes: LeaseMinutes = 30,
    mode: LockMode = "exclusive",
    wait_seconds: LockWaitSeconds = 0,
) -> LockFilesReply:
    """Lock files before you edit them, so that no other agent changes them. All or nothing; can wait until
    they are free. Your calls keep the lock alive."""
    paths_wanted = canonicalize_files(files, call.own_session.working_directory)
    fold = await store.project_ignores_case(call.tx, call.project)
    requests = [LockRequest.from_path(path, mode, fold) for path in paths_wanted]
    news = await list_changed_files(call, list(dict.fromkeys(request.file for request in requests)))
    last_counter = await advance_counter(call.tx, call.project, "lease", len(paths_wanted))
    state = await load_lock_state(call, requests, fold)
    now = state.now
    decision = await decide_under_contention(call, requests, fold, now, state.candidates)
    queue = await ask_queue(call, requests, state, decision, fold)
    if decision.conflicts:
        return await _answer_conflict(call, decision, queue, len(paths_wanted), reason, now, wait_seconds)
    if state.scope.held_count + len(paths_wanted) - len(decision.held) > MAX_LOCKS_PER_SESSION:
        raise errors.TooMany(
            f"A session can hold at most {MAX_LOCKS_PER_SESSION:,} locks.",
            hint="Lock the directory (dir/) instead of its files, or release some with memory_unlock_files.",
        )
    await take_over_leases(call, decision)
    terms = LeaseTerms(call.own_session.id, call.agent, mode, reason, minutes * MINUTE, now)
    first_token = leases.fencing_token(state.scope.epoch, last_counter - len(paths_wanted) + 1)
    granted = await store_grants(call, requests, decision, first_token, terms)
    await reservations.keep_others_waiting(call.tx, call.own_session, queue, granted)
    await reservations.delete_served_waiters(call.tx, call.own_session, queue, requests, state.free, fold)
    call.subject = f"{mode} {store.format_file_names(paths_wanted)}"
    call.emit(FILES_LOCKED, files=[lease.name for lease in granted], mode=mode)
    reply = _build_grant_reply(call, granted, decision, terms, news)
    reply.wanted_by = queue.list_agents_waiting_for(granted)
    return reply


async def _answer_conflict(
    call: Call,
    decision: LockDecision,
    queue: LockQueue,
    requested: int,
    reason: str,
    now: int,
    wait_seconds: int,
) -> LockFilesReply:
    """Tell the holders that somebody waits for their files, once. A wait goes on until the files are free or its time
    is over; only what cannot wait ends it, and the reply says which of these it was."""
    session, asked_at = call.own_session, call.now
    holders = await describe_holders(call, decision)
    before = queue.count_waiting_before(decision.conflicts, session.id, now)
    reply = _build_conflict_reply(call, decision, holders, before, requested, now)
    if not wait_seconds:
        reply.message = f"{reply.message} {_WAIT_OR_WORK}"
        await waiters.begin_waiting(call.tx, session, decision, reason, now, asked_at)
        return reply
    names = {lease.agent for _, lease in decision.conflicts}
    interruption = await waiters.find_interruption(call.tx, session, names) if session.has_notice else ""
    ended = (
        f"The wait ended early, without the lock: {interruption} (see _notice)."
        if interruption
        else f"Waited {wait_seconds} s in vain."
    )
    reply.message = f"{ended} {reply.message} {_WAIT_ON_OR_WORK}"

    async def write_offers(tx: Tx) -> None:
        await reservations.offer_in_project(tx, session.project, asked_at)

    raise WaitForEvents(
        call,
        reply,
        wait_seconds,
        lambda tx: waiters.insert_waiters(tx, session, decision, reason, now, asked_at),
        write_at_start=lambda tx: waiters.begin_waiting(tx, session, decision, reason, now, asked_at),
        write_between=write_offers if queue.has_changed else None,
        ends_with_notice=bool(interruption),
    )


def _build_grant_reply(
    call: Call,
    granted: Sequence[Lease],
    decision: LockDecision,
    terms: LeaseTerms,
    news: Sequence[ChangedFile],
) -> LockFilesReply:
    moment = LeaseMoment(terms.now, call.now)
    held = {lease.token for lease in decision.held.values()}
    new_files = {lease.file for lease in granted if lease.token not in held}
    longer = [lease.path for lease in granted if lease.expires_at > terms.now + terms.ttl]
    kept = (
        f"You hold {store.format_file_names(longer)} for longer than these minutes, and a lock is not shortened:"
        " call memory_unlock_files when you are done."
        if longer
        else ""
    )
    return LockFilesReply(
        success=True,
        locked=[LockGrant.from_lease(lease, moment) for lease in granted],
        changed=[change for change in news if change.file in new_files],
        message=" ".join(filter(None, (_warn_of_lapsed(decision), kept))),
    )


def _warn_of_lapsed(decision: LockDecision) -> str:
    """A holder whose lock ran out may have left the files half edited."""
    lapsed = [lease for lease in decision.lapsed.values() if not lease.session_ended]
    if not lapsed:
        return ""
    agents = " and ".join(sorted({lease.agent for lease in lapsed}))
    names = store.format_file_names([lease.name for lease in lapsed])
    return f"The lock of {agents} on {names} ran out: look for unfinished edits."


@operation(
    "memory_unlock_files",
    writes=True,
    idempotent=True,
    verbatim=("files",),
    keywords="unlock, free, let go, drop, give up reserved",
)
async def unlock_files(call: Call, files: LockPaths | None = None) -> UnlockFilesReply:
    """Release your locks on these files, or all of them. Use it when you are done editing."""
    now = await call.tx.clock()
    fold = await store.project_ignores_case(call.tx, call.project)
    held = await _list_held_leases(call, fold)
    requests = (
        [
            LockRequest.from_path(path, "exclusive", fold)
            for path in canonicalize_files(files, call.own_session.working_directory)
        ]
        if files
        else []
    )
    named = {request.path: [lease for lease in held if request.names_lease(lease)] for request in requests}
    released = list({lease.token: lease for found in named.values() for lease in found}.values())
    if not files:
        released = held
    withdrawn = await waiters.withdraw_waiters(
        call.tx, call.own_session, [request.path for request in requests]
    )
    if released:
        await store.delete_leases(call.tx, call.project, released)
    released_names = [lease.name for lease in released if lease.blocks_others(now)]
    if released_names:
        call.subject = store.format_file_names(released_names)
        call.emit(FILES_RELEASED, files=released_names)
    offers = LockQueue()
    if released_names or withdrawn:
        offers = await reservations.offer_in_project(call.tx, call.project, call.now)
    still_held = [lease.name for lease in held if lease not in released and lease.blocks_others(now)]
    if not still_held:
        await waiters.drop_wanted_notices(call.tx, call.own_session)
    return UnlockFilesReply(
        released=released_names,
        still_held=still_held,
        not_held=[
            shorten_path(path)
            for path, found in named.items()
            if not any(lease.blocks_others(now) for lease in found)
        ],
        notified=offers.list_offered_agents(),
        withdrawn=withdrawn,
    )


async def _list_held_leases(call: Call, fold: bool) -> list[Lease]:
    """The leases of the session and of the dormant sessions that it continues."""
    session = call.own_session
    works: list[Work[Any]] = [
        lambda tx: store.list_leases_of_session(tx, call.project, session.id, fold),
        lambda tx: list_dormant_sessions(tx, session, call.now),
    ]
    held: list[Lease]
    held, dormant = await run_together(call.tx, works)
    if dormant:
        ids = [earlier.id for earlier in dormant]
        held += await store.list_leases_of_sessions(call.tx, call.project, ids, fold)
    return held


@operation(
    "memory_get_locks",
    role="readonly",
    session_columns=store.LOCKS_IN_USE,
    keywords="who else is editing, owns a file, reserved, reservations, locked, taken, leased",
)
async def get_locks(
    call: Call,
    path_pattern: Annotated[LockPath | None, Field(description="Path, a.py:10-40, dir/ or glob.")] = None,
) -> LockListing:
    """Show who holds which files. Use it before you edit."""
    if call.session is None:
        raise no_session()
    now, in_use = call.store_now, call.session_row
    fold = bool(in_use["ignore_case"])
    if path_pattern is None:
        mine, others, total = await _list_leases_in_use(call, in_use, fold)
    else:
        mine, others, total = await _list_matching_leases(call, path_pattern, fold)
    dormant = await list_dormant_holders(call, others)
    earlier = [lease for lease in others if lease.session in dormant]
    others = [lease for lease in others if lease.session not in dormant]
    waiting = await waiters.list_waiters(call.tx, call.project, now) if in_use["has_waiters"] else ()
    wanted = None if path_pattern is None else [_request_pattern(call, path_pattern, fold)]
    if wanted is not None:
        waiting = [row for row in waiting if wanted[0].overlaps_path(row["path"], fold)]
    moment = LeaseMoment(now, call.now)
    return LockListing(
        total_count=total + len(mine),
        locks=[
            Lock.from_lease(lease, moment, wanted[0] if wanted else None)
            for lease in others[:MAX_LISTED_LOCKS]
        ],
        your_locks=[
            OwnLock.from_lease(lease, moment, call.own_session.id)
            for lease in [*mine, *earlier][:MAX_LISTED_LOCKS]
        ],
        wanted_by=[LockWaiter.from_row(row, moment) for row in waiting],
    )


def _build_conflict_reply(
    call: Call, decision: LockDecision, holders: Holders, before: int, requested: int, now: int
) -> LockFilesReply:
    moment = LeaseMoment(now, call.now)
    conflicts = [
        LockConflict.from_lease(request, lease, call.project, moment)
        for request, lease in decision.conflicts[: leases.MAX_CONFLICTS]
    ]
    files = len({request.path for request, _ in decision.conflicts})
    summary = (
        f"{files} of {requested} paths are {_describe_conflicts(decision, holders)}; nothing was locked."
    )
    call.subject = summary
    told = _TOLD_WHEN_RESERVED.format(pronoun="it is" if files == 1 else "they are")
    told = f"A {told}" if _is_only_reserved(decision) else f"The holder was told, and a {told}"
    return LockFilesReply(
        success=False,
        locked=[],
        conflicts=conflicts,
        message=" ".join(filter(None, (summary, _format_place(before), holders.advice or told))),
    )


def _is_only_reserved(decision: LockDecision) -> bool:
    return all(lease.is_reservation for _, lease in decision.conflicts)


def _describe_conflicts(decision: LockDecision, holders: Holders) -> str:
    if _is_only_reserved(decision):
        return f"free, but reserved for {holders.names} who waited longer"
    is_mixed = any(lease.is_reservation for _, lease in decision.conflicts)
    return f"locked by or reserved for {holders.names}" if is_mixed else f"locked by {holders.names}"


def _format_place(before: int) -> str:
    if not before:
        return ""
    return f"{before} agents wait before you." if before > 1 else "1 agent waits before you."


def _request_pattern(call: Call, path_pattern: str, fold: bool) -> LockRequest:
    """The pattern as a request; a plain path includes everything below it, a region only what overlaps it."""
    (path,) = canonicalize_files([path_pattern], call.own_session.working_directory)
    request = LockRequest.from_path(path, "exclusive", fold)
    if request.region is not None or request.pattern.kind != "literal":
        return request
    return LockRequest.from_path(f"{path}/", "exclusive", fold)


async def _list_leases_in_use(call: Call, in_use: Row, fold: bool) -> tuple[list[Lease], list[Lease], int]:
    """The caller's leases, the newest of the others', and the number of these."""
    tx, project, session, now = call.tx, call.project, call.own_session.id, call.store_now
    own = await store.list_leases_of_session(tx, project, session, fold) if in_use["has_own"] else []
    mine = [lease for lease in own if lease.blocks_others(now)]
    if not in_use["has_others"]:
        return mine, [], 0
    others = await store.list_leases_of_others(tx, project, session, fold, now, MAX_LISTED_LOCKS)
    total = len(others)
    if total == MAX_LISTED_LOCKS:
        total = await store.count_leases_of_others(tx, project, session, now)
    return mine, others, total


async def _list_matching_leases(
    call: Call, path_pattern: str, fold: bool
) -> tuple[list[Lease], list[Lease], int]:
    """The same of the leases that overlap the pattern, newest first."""
    request = _request_pattern(call, path_pattern, fold)
    candidates = await store.list_candidate_leases(call.tx, call.project, [request], fold)
    matches = [
        lease
        for lease in sorted(candidates, key=lambda lease: -lease.token)
        if request.conflicts_with(lease) and lease.blocks_others(call.store_now)
    ]
    own = call.own_session.id
    others = [lease for lease in matches if lease.session != own]
    return [lease for lease in matches if lease.session == own], others, len(others)
