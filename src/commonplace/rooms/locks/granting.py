"""Grant leases to the session of a call: read what others hold, decide, take over what lapsed, store.

`model.py` decides without a store; `operations.py` says who may ask and what is answered.

Fenced writes: a call presents the fencing tokens of its locks, and a token whose lock is gone is refused. A takeover deletes
the lease that it replaces, so a token is current exactly as long as its lease exists.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from commonplace import errors
from commonplace.arguments import MAX_INTEGER
from commonplace.call import Call
from commonplace.clock import MINUTE, SECOND, format_age
from commonplace.file_region import merge_regions, split_region
from commonplace.identity.liveness import (
    TAKEOVER_SILENCE,
    list_dormant_sessions,
    list_superseded_sessions,
    lock_dormant_sessions,
)
from commonplace.notices import notify_sessions
from commonplace.rooms.locks import model as leases
from commonplace.rooms.locks import paths, store
from commonplace.rooms.locks.contributes import LEASE_TAKEN_OVER
from commonplace.rooms.locks.model import Lease, LockDecision, LockMode, LockRequest
from commonplace.store.database import Work
from commonplace.store.shared_reads import run_together

_COUNTER_BITS = 40
_DECISION_ATTEMPTS = 5
_LAPSED_TAKEN = "{agent} took over your lapsed lock on"
_YIELDED_TAKEN = (
    "A newer session of {agent} took over your lock; call memory_lock_files before you edit again:"
)


def canonicalize_files(files: Sequence[str], directory: str) -> list[str]:
    # `src` and `src/` are one lock: the first spelling stays.
    path_by_name: dict[str, str] = {}
    for path in files:
        canonical = paths.canonicalize_path(path, directory)
        _, region = split_region(path)
        if region is not None and paths.parse_pattern(canonical, (), False).kind == "literal":
            canonical += region.text
        path_by_name.setdefault(canonical.removesuffix("/"), canonical)
    return list(path_by_name.values())


@dataclass(frozen=True, slots=True)
class LeaseTerms:
    """What one call asks for, apart from the paths."""

    session: str
    agent: str
    mode: LockMode
    reason: str
    ttl: int
    now: int


@dataclass(frozen=True, slots=True)
class LockState:
    """The time, the settings, and the leases that may overlap."""

    now: int
    scope: store.LockScope
    candidates: list[Lease]


async def load_lock_state(call: Call, requests: Sequence[LockRequest], fold: bool) -> LockState:
    """Read it in one message: other lockers wait meanwhile."""
    works: list[Work[Any]] = [
        lambda tx: tx.clock(),
        lambda tx: store.load_lock_scope(tx, call.project, call.own_session.id),
        lambda tx: store.list_candidate_leases(tx, call.project, requests, fold),
    ]
    return LockState(*await run_together(call.tx, works))


async def decide_under_contention(
    call: Call, requests: Sequence[LockRequest], fold: bool, now: int, candidates: Sequence[Lease]
) -> LockDecision:
    """Decide again if the holder of a lease that is to be taken over renews it meanwhile."""
    for _ in range(_DECISION_ATTEMPTS):
        dormant = await list_dormant_holders(call, candidates)
        decision = leases.decide_requests(requests, candidates, call.own_session.id, now, dormant)
        if decision.conflicts or await _lock_losers(call, decision, now):
            return decision
        candidates = await store.list_candidate_leases(call.tx, call.project, requests, fold)
    raise errors.Unavailable("The locks on these files are changing too fast.", hint="Retry the same call.")


async def list_dormant_holders(call: Call, candidates: Iterable[Lease]) -> set[str]:
    """The dormant sessions of the caller's agent, if another session under its name holds one of these leases."""
    session = call.own_session
    if not any(lease.agent == session.agent and lease.session != session.id for lease in candidates):
        return set()
    return {earlier.id for earlier in await list_dormant_sessions(call.tx, session, call.now)}


async def _lock_losers(call: Call, decision: LockDecision, now: int) -> bool:
    """Row-lock what is to be taken over; return False if a holder made a call meanwhile."""
    yielding = {lease.session for lease in decision.yielded.values()}
    return await store.lock_lapsed_leases(
        call.tx, call.project, decision.lapsed.values(), now
    ) and await lock_dormant_sessions(call.tx, call.project, sorted(yielding), call.now)


async def take_over_leases(call: Call, decision: LockDecision) -> None:
    lapsed, yielded = list(decision.lapsed.values()), list(decision.yielded.values())
    lost = lapsed + yielded
    if not lost:
        return
    await store.delete_leases(call.tx, call.project, lost)
    await _notify_losers(call, lapsed, _LAPSED_TAKEN.format(agent=call.agent))
    await _notify_losers(call, yielded, _YIELDED_TAKEN.format(agent=call.agent))
    call.emit(
        LEASE_TAKEN_OVER,
        files=[lease.name for lease in lost],
        held_by=sorted({lease.agent for lease in lost}),
    )


async def _notify_losers(call: Call, lost: Sequence[Lease], text: str) -> None:
    names_by_session: dict[str, list[str]] = defaultdict(list)
    for lease in lost:
        if not lease.session_ended:
            names_by_session[lease.session].append(lease.name)
    for session, names in names_by_session.items():
        notice = f"{text} {store.format_file_names(names)}."
        await notify_sessions(call.tx, call.project, [session], notice, call.now)


async def store_grants(
    call: Call, requests: Sequence[LockRequest], decision: LockDecision, first_token: int, terms: LeaseTerms
) -> list[Lease]:
    held, joined = decision.held, decision.joined
    granted = [
        grant_lease(
            request, held.get(request.path), joined.get(request.path, ()), first_token + offset, terms
        )
        for offset, request in enumerate(requests)
    ]
    if joined:
        await store.delete_leases(
            call.tx, call.project, [lease for found in joined.values() for lease in found]
        )
    await store.upsert_leases(call.tx, call.project, granted)
    return granted


_MAX_TOKENS = 200


def _list_single_token(value: Any) -> Any:
    return [value] if isinstance(value, int) else value


FencingTokens = Annotated[
    list[Annotated[int, Field(ge=1, le=MAX_INTEGER)]],
    BeforeValidator(_list_single_token),
    Field(min_length=1, max_length=_MAX_TOKENS),
]
"""The tokens of one or more locks; one token may be passed as a number."""


async def require_current_tokens(call: Call, tokens: Sequence[int], files: Sequence[str] = ()) -> None:
    """Refuse tokens whose locks this session no longer holds, and canonical paths that no lock of a token covers."""
    fold = await store.project_ignores_case(call.tx, call.project)
    session = call.own_session
    leases = await store.list_leases_with_tokens(call.tx, session.project, session.id, tokens, fold)
    current = {lease.token for lease in leases}
    stale = sorted(set(tokens) - current)
    uncovered = [path for path in files if not any(lease.covers_path(path) for lease in leases)]
    if not stale and not uncovered:
        return
    subject = store.format_file_names(uncovered) if uncovered else f"token {', '.join(map(str, stale[:5]))}"
    raise errors.StaleToken(
        f"You no longer hold the lock for {subject}: it lapsed, was released, or another agent took it over.",
        hint="Lock the files again with memory_lock_files, check what others changed, and pass the new token.",
        files=uncovered,
        tokens=stale,
    )


def grant_lease(
    request: LockRequest, held: Lease | None, joined: Sequence[Lease], token: int, terms: LeaseTerms
) -> Lease:
    """Return the new lease. A held lease is renewed and keeps its token and start time.

    It is not shortened: the terms that last longer stay, its `ttl` with its end. So `expires_at - ttl` is never in
    the future, and a server that starts reads from it how late it was (`store.py`).
    """
    before = [held] if held else joined
    expires_at, ttl = max(
        [(terms.now + terms.ttl, terms.ttl), *((lease.expires_at, lease.ttl) for lease in before)]
    )
    reason = terms.reason or next((lease.reason for lease in before), "")
    if held is None:
        return replace(
            _build_lease(request, joined, token, terms), expires_at=expires_at, ttl=ttl, reason=reason
        )
    upgraded = held.mode == "shared" and terms.mode == "exclusive"
    return replace(
        held,
        agent=terms.agent,
        mode=terms.mode if upgraded else held.mode,
        token=token if upgraded else held.token,
        reason=reason,
        ttl=ttl,
        expires_at=expires_at,
    )


def _build_lease(request: LockRequest, joined: Sequence[Lease], token: int, terms: LeaseTerms) -> Lease:
    region = request.region
    for lease in joined:
        region = merge_regions(lease.region, region) if lease.region and region else region
    return Lease(
        request.file + region.text if region else request.path,
        request.file,
        region,
        request.pattern,
        request.prefix,
        terms.session,
        terms.agent,
        terms.mode,
        token,
        terms.reason,
        terms.ttl,
        terms.now,
        terms.now + terms.ttl,
    )


def fencing_token(epoch: int, counter: int) -> int:
    """Combine epoch and counter. Restoring a backup raises the epoch, because later grants may be lost."""
    return epoch << _COUNTER_BITS | counter


async def describe_holders(call: Call, decision: LockDecision) -> tuple[str, str]:
    """Who holds what a request met, and what replaces the usual advice where the caller would wait for itself."""
    own = call.own_session.agent
    last_calls = {lease.session: lease.active_at for _, lease in decision.conflicts if lease.agent == own}
    if not last_calls:
        return "others", ""
    last_call = max(last_calls.values())
    silence = call.now - last_call
    passed = f"{silence // SECOND} s" if silence < MINUTE else format_age(last_call, call.now)
    other_session = f"your other session (last call {passed} ago)"
    if any(lease.agent != own for _, lease in decision.conflicts):
        return f"others and {other_session}", ""
    superseded = await list_superseded_sessions(call.tx, call.own_session, call.now)
    if last_calls.keys() <= {earlier.session.id for earlier in superseded}:
        seconds = max(1, -(-(last_call + TAKEOVER_SILENCE - call.now) // SECOND))
        return other_session, f"If you closed it, call again in {seconds} s: then you take them over."
    return other_session, ""
