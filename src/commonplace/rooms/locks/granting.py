"""Grant leases to the session of a call: read what others hold, decide, take over what lapsed, store.

`lease.py` decides without a store; `operations.py` and `releases.py` say who may ask and what is answered.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from commonplace import activity, errors
from commonplace.call import Call
from commonplace.file_region import split_region
from commonplace.rooms.locks import lease as leases
from commonplace.rooms.locks import paths, store
from commonplace.rooms.locks.events import LEASE_TAKEN_OVER
from commonplace.rooms.locks.lease import Lease, LeaseTerms, LockDecision, LockRequest
from commonplace.store.database import Work
from commonplace.store.shared_reads import run_together

_DECISION_ATTEMPTS = 5


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


async def load_lock_state(
    call: Call, requests: Sequence[LockRequest], fold: bool
) -> tuple[int, store.LockScope, list[Lease]]:
    """The time, the settings and the leases that may overlap, in one message: other lockers wait meanwhile."""
    works: list[Work[Any]] = [
        lambda tx: tx.clock(),
        lambda tx: store.load_lock_scope(tx, call.project, call.own_session.id),
        lambda tx: store.list_candidate_leases(tx, call.project, requests, fold),
    ]
    now, scope, candidates = await run_together(call.tx, works)
    return now, scope, candidates


async def decide_under_contention(
    call: Call, requests: Sequence[LockRequest], fold: bool, now: int, candidates: Sequence[Lease]
) -> LockDecision:
    """Decide again if the holder of a lapsed lease renews it meanwhile."""
    for _ in range(_DECISION_ATTEMPTS):
        decision = leases.decide_requests(requests, candidates, call.own_session.id, now)
        if decision.conflicts or await store.lock_lapsed_leases(
            call.tx, call.project, decision.lapsed.values(), now
        ):
            return decision
        candidates = await store.list_candidate_leases(call.tx, call.project, requests, fold)
    raise errors.Unavailable("The locks on these files are changing too fast.", hint="Retry the same call.")


async def take_over_lapsed(call: Call, lapsed: Sequence[Lease]) -> None:
    if not lapsed:
        return
    await store.delete_leases(call.tx, call.project, lapsed)
    lost_paths: dict[str, list[str]] = defaultdict(list)
    for lease in lapsed:
        if not lease.session_ended:
            lost_paths[lease.session].append(lease.name)
    for session, files in lost_paths.items():
        text = f"{call.agent} took over your lapsed lock on {store.format_file_names(files)}."
        await activity.notify_sessions(call.tx, call.project, [session], text, call.now)
    call.emit(
        LEASE_TAKEN_OVER,
        files=[lease.name for lease in lapsed],
        held_by=sorted({lease.agent for lease in lapsed}),
    )


async def store_grants(
    call: Call, requests: Sequence[LockRequest], decision: LockDecision, first_token: int, terms: LeaseTerms
) -> list[Lease]:
    held, joined = decision.held, decision.joined
    granted = [
        leases.grant_lease(
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
