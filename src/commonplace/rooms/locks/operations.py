"""Lock files or regions of them, unlock them, list locks; and release a lock of an agent as a person or an admin.

`granting.py` grants, `waiting.py` knows who waits, `model.py` decides what may be granted, `store.py` has the SQL.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import structs
from pydantic import Field

from commonplace import errors
from commonplace.call import Call
from commonplace.clock import MINUTE
from commonplace.file_region import shorten_path
from commonplace.identity import session as agent_session
from commonplace.identity.acting import no_session
from commonplace.identity.liveness import list_dormant_sessions
from commonplace.identity.session import AgentSession
from commonplace.notices import notify_sessions
from commonplace.operation import operation
from commonplace.rooms.locks import granting, store, waiting
from commonplace.rooms.locks import model as leases
from commonplace.rooms.locks.contributes import FILES_LOCKED, FILES_RELEASED, list_changed_files
from commonplace.rooms.locks.granting import (
    LeaseTerms,
    canonicalize_files,
    decide_under_contention,
    describe_holders,
    list_dormant_holders,
    load_lock_state,
    store_grants,
    take_over_leases,
)
from commonplace.rooms.locks.model import (
    DEFAULT_LEASE_MINUTES,
    MAX_LISTED_LOCKS,
    MAX_LOCKS_PER_SESSION,
    ChangedFile,
    HeldPath,
    Holder,
    Lease,
    LeaseMinutes,
    LeaseMoment,
    Lock,
    LockConflict,
    LockDecision,
    LockFilesReply,
    LockGrant,
    LockListing,
    LockMode,
    LockPath,
    LockPaths,
    LockReason,
    LockRequest,
    LockWaitSeconds,
    OwnLock,
    ReleasedLock,
    ReleasedLocks,
    ReleaseReason,
    ReturnedLock,
    ShortSession,
    UnlockFilesReply,
)
from commonplace.shortening import shorten_line
from commonplace.store.counters import advance_counter
from commonplace.store.database import Row, Tx, Work
from commonplace.store.shared_reads import run_together
from commonplace.waiting import WaitForEvents

_MAX_RELEASE_REASON_CHARACTERS = 200
_FREED = "stop editing {pronoun} and lock {pronoun} again before you go on."
_TOLD = "A notice tells you once when it is free (memory_unlock_files withdraws this)."
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
    minutes: LeaseMinutes = DEFAULT_LEASE_MINUTES,
    mode: LockMode = "exclusive",
    wait_seconds: LockWaitSeconds = 0,
) -> LockFilesReply:
    """Lock files before you edit them, so that no other agent changes them. All or nothing; can wait until
    they are free. Your calls keep it alive."""
    paths_wanted = canonicalize_files(files, call.own_session.working_directory)
    fold = await store.project_ignores_case(call.tx, call.project)
    requests = [LockRequest.from_path(path, mode, fold) for path in paths_wanted]
    news = await list_changed_files(call, list(dict.fromkeys(request.file for request in requests)))
    last_counter = await advance_counter(call.tx, call.project, "lease", len(paths_wanted))
    state = await load_lock_state(call, requests, fold)
    now = state.now
    decision = await decide_under_contention(call, requests, fold, now, state.candidates)
    waiters, told = await _list_waiters(call, state)
    decision.conflicts += waiting.list_turns(waiters, requests, call.own_session.id, now)
    if decision.conflicts:
        return await _answer_conflict(
            call, decision, bool(told), len(paths_wanted), reason, now, wait_seconds
        )
    if state.scope.held_count + len(paths_wanted) - len(decision.held) > MAX_LOCKS_PER_SESSION:
        raise errors.TooMany(
            f"A session can hold at most {MAX_LOCKS_PER_SESSION:,} locks.",
            hint="Lock the directory (dir/) instead of its files, or release some with memory_unlock_files.",
        )
    await take_over_leases(call, decision)
    terms = LeaseTerms(call.own_session.id, call.agent, mode, reason, minutes * MINUTE, now)
    first_token = granting.fencing_token(state.scope.epoch, last_counter - len(paths_wanted) + 1)
    granted = await store_grants(call, requests, decision, first_token, terms)
    await waiting.settle_waiters(call.tx, call.own_session, waiters, requests, granted)
    call.subject = f"{mode} {store.format_file_names(paths_wanted)}"
    call.emit(FILES_LOCKED, files=[lease.name for lease in granted], mode=mode)
    reply = _build_grant_reply(call, granted, decision, terms, news)
    reply.wanted_by = waiting.list_agents_waiting_for(waiters, granted)
    return reply


async def _list_waiters(call: Call, state: granting.LockState) -> tuple[list[waiting.Waiter], list[str]]:
    """Who waits in the project, and whose turn began now."""
    if not state.scope.has_waiters:
        return [], []
    return await waiting.tell_free_paths(call.tx, call.project, call.now, call.own_session.id)


async def _answer_conflict(
    call: Call,
    decision: LockDecision,
    has_told: bool,
    requested: int,
    reason: str,
    now: int,
    wait_seconds: int,
) -> LockFilesReply:
    """Tell the holders that somebody waits for their files, once. A wait goes on until the files are free or its time
    is over; only what cannot wait ends it, and the reply says which of these it was."""
    session, asked_at = call.own_session, call.now
    reply = await _build_conflict_reply(call, decision, requested, now)
    if not wait_seconds:
        reply.message = f"{reply.message} {_WAIT_OR_WORK}"
        await waiting.begin_waiting(call.tx, session, decision, reason, now, asked_at, 0)
        return reply
    names = {lease.agent for _, lease in decision.conflicts}
    interruption = await waiting.find_interruption(call.tx, session, names) if session.has_notice else ""
    ended = (
        f"The wait ended early, without the lock: {interruption} (see _notice)."
        if interruption
        else f"Waited {wait_seconds} s in vain."
    )
    reply.message = f"{ended} {reply.message} {_WAIT_ON_OR_WORK}"

    async def tell_others(tx: Tx) -> None:
        await waiting.tell_free_paths(tx, session.project, asked_at)

    raise WaitForEvents(
        call,
        reply,
        wait_seconds,
        lambda tx: waiting.insert_waiters(tx, session, decision, reason, now, asked_at, 0),
        write_at_start=lambda tx: waiting.begin_waiting(
            tx, session, decision, reason, now, asked_at, wait_seconds
        ),
        write_between=tell_others if has_told else None,
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
    withdrawn = await waiting.withdraw_waiters(
        call.tx, call.own_session, [request.path for request in requests]
    )
    if released:
        await store.delete_leases(call.tx, call.project, released)
    released_names = [lease.name for lease in released if lease.blocks_others(now)]
    if released_names:
        call.subject = store.format_file_names(released_names)
        call.emit(FILES_RELEASED, files=released_names)
    told = list[str]()
    if released_names or withdrawn:
        _, told = await waiting.tell_free_paths(call.tx, call.project, call.now)
    still_held = [lease.name for lease in held if lease not in released and lease.blocks_others(now)]
    if not still_held:
        await waiting.drop_wanted_notices(call.tx, call.own_session)
    return UnlockFilesReply(
        released=released_names,
        still_held=still_held,
        not_held=[
            shorten_path(path)
            for path, found in named.items()
            if not any(lease.blocks_others(now) for lease in found)
        ],
        notified=told,
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
    waiters = await waiting.list_waiters(call.tx, call.project, now, fold) if in_use["has_waiters"] else []
    wanted = None if path_pattern is None else _request_pattern(call, path_pattern, fold)
    if wanted is not None:
        waiters = [waiter for waiter in waiters if wanted.overlaps_path(waiter.request.path, fold)]
    moment = LeaseMoment(now, call.now)
    return LockListing(
        total_count=total + len(mine),
        locks=[Lock.from_lease(lease, moment, wanted) for lease in others[:MAX_LISTED_LOCKS]],
        your_locks=[
            OwnLock.from_lease(lease, moment, call.own_session.id)
            for lease in [*mine, *earlier][:MAX_LISTED_LOCKS]
        ],
        wanted_by=[waiting.show_waiter(waiter, moment) for waiter in waiters],
    )


async def _build_conflict_reply(
    call: Call, decision: LockDecision, requested: int, now: int
) -> LockFilesReply:
    moment = LeaseMoment(now, call.now)
    met = decision.conflicts[: leases.MAX_CONFLICTS]
    tasks = await store.load_current_tasks(call.tx, call.project, {lease.agent for _, lease in met})
    files = len({request.path for request, _ in decision.conflicts})
    names, advice = await describe_holders(call, decision)
    is_free = all(lease.is_reservation for _, lease in decision.conflicts)
    state = f"free, but it is the turn of {names}, who waited longer" if is_free else f"locked by {names}"
    summary = f"{files} of {requested} paths are {state}; nothing was locked."
    call.subject = summary
    return LockFilesReply(
        success=False,
        locked=[],
        conflicts=[
            LockConflict.from_lease(request, lease, call.project, moment, tasks.get(lease.agent, ""))
            for request, lease in met
        ],
        message=f"{summary} {advice or (_TOLD if is_free else f'The holder was told. {_TOLD}')}",
    )


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


@operation(
    "memory_release_lock",
    writes=True,
    session=False,
    verbatim=("file",),
)
async def release_lock(
    call: Call, project: str, agent: Holder, file: HeldPath, reason: ReleaseReason
) -> ReleasedLocks:
    """Release the locks of an agent on a file, as a person or an admin; the agent is told who did it and why."""
    del project
    now = await call.tx.clock()
    held = await _list_held(call, agent, file, now)
    if not held:
        raise errors.NotFound(f"{agent} holds no lock on {file}.", hint="Call memory_list_locks.")
    _require_person(call)
    await store.delete_leases(call.tx, call.project, held)
    names = [lease.name for lease in held]
    await _tell_holders(call, held, reason)
    call.subject = f"{agent} {store.format_file_names(names)}: {reason}"
    call.emit(FILES_RELEASED, files=names, agent=agent, reason=reason)
    _, told = await waiting.tell_free_paths(call.tx, call.project, call.now)
    return ReleasedLocks(released=[_describe_released(lease) for lease in held], notified=told)


@operation("memory_return_lock", writes=True, session=False, verbatim=("lock",))
async def return_lock(
    call: Call,
    project: str,
    agent: Holder,
    session: ShortSession,
    lock: HeldPath,
    mode: LockMode = "exclusive",
    minutes: LeaseMinutes = DEFAULT_LEASE_MINUTES,
    reason: LockReason = "",
) -> ReturnedLock:
    """Give back a lock that memory_release_lock released, unless somebody else holds the file now."""
    del project
    holder = await _load_holder(call, agent, session)
    _require_person(call)
    held = structs.replace(call, session=holder)
    (path,) = canonicalize_files([lock], "")
    fold = await store.project_ignores_case(call.tx, call.project)
    request = LockRequest.from_path(path, mode, fold)
    counter = await advance_counter(call.tx, call.project, "lease", 1)
    state = await load_lock_state(held, [request], fold)
    now = state.now
    decision = await decide_under_contention(held, [request], fold, now, state.candidates)
    if decision.conflicts:
        _, other = decision.conflicts[0]
        raise errors.Conflict(
            f"{other.agent} has locked {other.name} meanwhile.", hint="Ask its holder, or leave it."
        )
    await take_over_leases(held, decision)
    terms = LeaseTerms(holder.id, agent, mode, reason, minutes * MINUTE, now)
    token = granting.fencing_token(state.scope.epoch, counter)
    (granted,) = await store_grants(held, [request], decision, token, terms)
    # A person decides here, whoever's turn it is; who waits goes on waiting.
    waiters = await waiting.list_waiters(call.tx, call.project, now, fold, holder.id)
    await waiting.settle_waiters(call.tx, holder, waiters, [request], [granted])
    text = f"{call.agent} gave you back the lock on {granted.name}."
    await notify_sessions(call.tx, call.project, [holder.id], text, call.now)
    call.subject = f"{agent} {granted.name}"
    call.emit(FILES_LOCKED, files=[granted.name], mode=mode, agent=agent)
    expires_at = LeaseMoment(now, call.now).show_time(granted.expires_at)
    return ReturnedLock(file=granted.name, agent=agent, expires_at=expires_at)


def _require_person(call: Call) -> None:
    if not call.caller.decides_for_others:
        raise errors.Forbidden(
            "Only people and admins release the locks of others.",
            hint="Write to the holder with memory_send_message, or ask a person with memory_ask_person.",
        )


async def _list_held(call: Call, agent: str, file: str, now: int) -> list[Lease]:
    (path,) = canonicalize_files([file], "")
    fold = await store.project_ignores_case(call.tx, call.project)
    request = LockRequest.from_path(path, "exclusive", fold)
    candidates = await store.list_candidate_leases(call.tx, call.project, [request], fold)
    return [
        lease
        for lease in candidates
        if lease.agent == agent and request.names_lease(lease) and lease.blocks_others(now)
    ]


async def _tell_holders(call: Call, held: Sequence[Lease], reason: str) -> None:
    names_by_session: dict[str, list[str]] = defaultdict(list)
    for lease in held:
        names_by_session[lease.session].append(lease.name)
    why = shorten_line(reason, _MAX_RELEASE_REASON_CHARACTERS)
    for session, names in names_by_session.items():
        advice = _FREED.format(pronoun="it" if len(names) == 1 else "them")
        text = f'{call.agent} released your lock on {store.format_file_names(names)} ("{why}"): {advice}'
        await notify_sessions(call.tx, call.project, [session], text, call.now)


def _describe_released(lease: Lease) -> ReleasedLock:
    return ReleasedLock(
        lock=lease.path,
        file=lease.name,
        agent=lease.agent,
        session=agent_session.shorten_session(lease.session),
        mode=lease.mode,
        minutes=max(1, lease.ttl // MINUTE),
        reason=lease.reason,
    )


async def _load_holder(call: Call, agent: str, session: str) -> AgentSession:
    for known in await store.list_open_sessions(call.tx, call.project, agent):
        if agent_session.shorten_session(known.id) == session:
            return known
    raise errors.NotFound(
        f"{agent} has ended the session that held this.", hint="It locks what it needs when it starts again."
    )
