"""Release a lock of an agent as a person or an admin, with a reason that the agent is told, and give it back.

For a lock that nobody comes back to while others wait. The page offers it; models are not shown it. Agents release their own
locks with memory_unlock_files (`operations.py`).
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Annotated

from msgspec import structs
from pydantic import Field

from commonplace import errors
from commonplace.arguments import AgentName
from commonplace.call import Call
from commonplace.clock import MINUTE
from commonplace.identity import session as agent_session
from commonplace.identity.session import AgentSession
from commonplace.notices import notify_sessions
from commonplace.operation import Reply, operation
from commonplace.rooms.locks import granting, reservations, store
from commonplace.rooms.locks import lease as leases
from commonplace.rooms.locks.events import FILES_LOCKED, FILES_RELEASED
from commonplace.rooms.locks.lease import Lease, LeaseMoment, LeaseTerms, LockMode, LockRequest
from commonplace.rooms.locks.model import LeaseMinutes, LockPath, LockReason
from commonplace.shortening import shorten_line
from commonplace.store.counters import advance_counter

ReleaseReason = Annotated[str, Field(min_length=1, max_length=500, description="Why; the holder is told.")]
ShortSession = Annotated[
    str,
    Field(
        min_length=12, max_length=12, description="The session that held it, as memory_release_lock named it."
    ),
]
_MAX_REASON_CHARACTERS = 200
_FREED = "stop editing {pronoun} and lock {pronoun} again before you go on."


class ReleasedLock(Reply):
    """A lock that was taken from its holder. memory_return_lock takes these values to give it back."""

    lock: str
    file: str
    agent: str
    session: str
    mode: str
    minutes: int
    reason: str = ""


class ReleasedLocks(Reply):
    released: list[ReleasedLock]
    notified: list[str] = []
    """Agents for which one of them is reserved now; they were told."""


class ReturnedLock(Reply):
    file: str
    agent: str
    expires_at: str


@operation(
    "memory_release_lock",
    writes=True,
    session=False,
    verbatim=("file",),
)
async def release_lock(
    call: Call,
    project: str,
    agent: Annotated[AgentName, Field(description="Its holder.")],
    file: Annotated[
        LockPath, Field(description="What is held, as memory_list_locks or the live state names it.")
    ],
    reason: ReleaseReason,
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
    offers = await reservations.offer_in_project(call.tx, call.project, call.now)
    return ReleasedLocks(
        released=[_describe_released(lease) for lease in held],
        notified=offers.list_offered_agents(),
    )


@operation("memory_return_lock", writes=True, session=False, verbatim=("lock",))
async def return_lock(
    call: Call,
    project: str,
    agent: Annotated[AgentName, Field(description="Who held it.")],
    session: ShortSession,
    lock: Annotated[LockPath, Field(description="What was released, as memory_release_lock named it.")],
    mode: Annotated[LockMode, Field(description="exclusive, or shared with other readers.")] = "exclusive",
    minutes: Annotated[
        LeaseMinutes,
        Field(description="How long the lease lasts without a call of yours; each call renews it."),
    ] = 30,
    reason: Annotated[LockReason, Field(description="Why; others see it.")] = "",
) -> ReturnedLock:
    """Give back a lock that memory_release_lock released, unless somebody else holds the file now."""
    del project
    holder = await _load_holder(call, agent, session)
    _require_person(call)
    held = structs.replace(call, session=holder)
    (path,) = granting.canonicalize_files([lock], "")
    fold = await store.project_ignores_case(call.tx, call.project)
    request = LockRequest.from_path(path, mode, fold)
    counter = await advance_counter(call.tx, call.project, "lease", 1)
    state = await granting.load_lock_state(held, [request], fold)
    now = state.now
    decision = await granting.decide_under_contention(held, [request], fold, now, state.candidates)
    if decision.conflicts:
        _, other = decision.conflicts[0]
        raise errors.Conflict(
            f"{other.agent} has locked {other.name} meanwhile.", hint="Ask its holder, or leave it."
        )
    await granting.take_over_leases(held, decision)
    terms = LeaseTerms(holder.id, agent, mode, reason, minutes * MINUTE, now)
    token = leases.fencing_token(state.scope.epoch, counter)
    (granted,) = await granting.store_grants(held, [request], decision, token, terms)
    # A person decides here, so reservations are not asked; who has one waits on.
    queue = await granting.load_queue(held, state, fold)
    await reservations.keep_others_waiting(call.tx, holder, queue, [granted])
    await reservations.delete_served_waiters(call.tx, holder, queue, [request], state.free, fold)
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
    (path,) = granting.canonicalize_files([file], "")
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
    why = shorten_line(reason, _MAX_REASON_CHARACTERS)
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
