"""Leases and the decision whether a lock request may be granted.

Pure logic without a store: `store.py` loads and saves the leases, `paths.py` compares their paths.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from commonplace.clock import MINUTE, SECOND, iso
from commonplace.rooms.locks import paths, prefixes
from commonplace.store.database import Row

LockMode = Literal["exclusive", "shared"]

TAKEOVER_DELAY = 15 * SECOND
"""How long after its expiry only the old holder may renew a lease: a quarter of the shortest lease."""

STALE_AFTER = 5 * MINUTE
MAX_CONFLICTS = 200

_COUNTER_BITS = 40


@dataclass(frozen=True, slots=True)
class LeaseMoment:
    """Now in the time of leases (`store/lease_clock.py`), and on the clock that people read."""

    lease: int
    wall: int

    def show_time(self, at: int) -> str:
        """A time of a lease as people read it."""
        return iso(at - self.lease + self.wall)

    def move_to_wall(self, lease: "Lease") -> "Lease":
        """The lease with the times that people read."""
        moved = self.wall - self.lease
        return replace(lease, granted_at=lease.granted_at + moved, expires_at=lease.expires_at + moved)


@dataclass(frozen=True, slots=True)
class Lease:
    path: str
    pattern: paths.PathPattern
    prefix: str
    session: str
    agent: str
    mode: LockMode
    token: int
    reason: str
    ttl: int
    granted_at: int
    expires_at: int
    active_at: int = 0
    session_ended: bool = False

    @classmethod
    def from_row(cls, row: Row, fold: bool) -> "Lease":
        return cls(
            row["path"],
            paths.parse_pattern(row["path"], (), fold),
            row["prefix"],
            row["session"],
            row["agent"],
            row["mode"],
            row["token"],
            row["reason"],
            row["ttl"],
            row["granted_at"],
            row["expires_at"],
            row["active_at"] or 0,
            row["active_at"] is None or row["ended_at"] is not None,
        )

    def blocks_others(self, now: int) -> bool:
        """True while the lease is alive, or lapsed so recently that only its holder may renew it."""
        return not self.session_ended and now < self.expires_at + TAKEOVER_DELAY

    def covers_path(self, path: str) -> bool:
        """Whether the lease protects this canonical path, read as a plain file name."""
        fold = self.pattern.fold
        inside = self.pattern.kind == "literal" and paths.is_same_or_inside(path, self.path, fold)
        return inside or paths.matches_path(self.pattern, path)

    def is_stale(self, moment: LeaseMoment) -> bool:
        return moment.lease >= self.expires_at or moment.wall - self.active_at > STALE_AFTER


@dataclass(frozen=True, slots=True)
class LockRequest:
    """One path that a session wants to lock."""

    path: str
    pattern: paths.PathPattern
    prefix: str
    mode: LockMode

    @classmethod
    def from_path(cls, path: str, mode: LockMode, fold: bool) -> "LockRequest":
        return cls(path, paths.parse_pattern(path, (), fold), prefixes.prefix_of_pattern(path), mode)

    def conflicts_with(self, lease: Lease) -> bool:
        if self.mode == lease.mode == "shared" or not prefixes.prefixes_overlap(self.prefix, lease.prefix):
            return False
        return self._overlaps_pattern(lease.pattern)

    def overlaps_path(self, path: str, fold: bool) -> bool:
        return self._overlaps_pattern(paths.parse_pattern(path, (), fold))

    def _overlaps_pattern(self, pattern: paths.PathPattern) -> bool:
        return (
            paths.patterns_overlap(self.pattern, pattern)
            or paths.contains_pattern(self.pattern, pattern)
            or paths.contains_pattern(pattern, self.pattern)
        )


@dataclass(slots=True)
class LockDecision:
    """The conflicts, the lapsed leases to take over (by token), and the session's own leases (by requested path)."""

    conflicts: list[tuple[LockRequest, Lease]] = field(default_factory=list)
    lapsed: dict[int, Lease] = field(default_factory=dict)
    held: dict[str, Lease] = field(default_factory=dict)


def decide_requests(
    requests: Sequence[LockRequest], leases: Iterable[Lease], session: str, now: int
) -> LockDecision:
    """Compare requests with leases; any conflict refuses them all. A session never conflicts with itself."""
    decision = LockDecision()
    own = {}
    for lease in leases:
        if len(decision.conflicts) >= MAX_CONFLICTS:
            break
        if lease.session == session:
            own[lease.pattern.lock_key] = lease
            continue
        for request in requests:
            if not request.conflicts_with(lease):
                continue
            if lease.blocks_others(now):
                decision.conflicts.append((request, lease))
            else:
                decision.lapsed[lease.token] = lease
    decision.held = {
        request.path: own[request.pattern.lock_key] for request in requests if request.pattern.lock_key in own
    }
    return decision


@dataclass(frozen=True, slots=True)
class LeaseTerms:
    """What one call asks for, apart from the paths."""

    session: str
    agent: str
    mode: LockMode
    reason: str
    ttl: int
    now: int


def grant_lease(request: LockRequest, held: Lease | None, token: int, terms: LeaseTerms) -> Lease:
    """Return the new lease. A held lease that is alive is renewed and keeps its token and start time.

    It is not shortened: the terms that last longer stay, its `ttl` with its end. So `expires_at - ttl` is never in
    the future, and a server that starts reads from it how late it was (`lease_time.py`).
    """
    expires_at = terms.now + terms.ttl
    if held is None or not held.blocks_others(terms.now):
        return _build_lease(
            request.path, request, terms, terms.mode, token, terms.reason, terms.now, expires_at
        )
    upgraded = held.mode == "shared" and terms.mode == "exclusive"
    if held.expires_at > expires_at:
        terms = replace(terms, ttl=held.ttl)
    return _build_lease(
        held.path,
        request,
        terms,
        terms.mode if upgraded else held.mode,
        token if upgraded else held.token,
        terms.reason or held.reason,
        held.granted_at,
        max(held.expires_at, expires_at),
    )


def _build_lease(
    path: str,
    request: LockRequest,
    terms: LeaseTerms,
    mode: LockMode,
    token: int,
    reason: str,
    granted_at: int,
    expires_at: int,
) -> Lease:
    return Lease(
        path,
        request.pattern,
        request.prefix,
        terms.session,
        terms.agent,
        mode,
        token,
        reason,
        terms.ttl,
        granted_at,
        expires_at,
    )


def fencing_token(epoch: int, counter: int) -> int:
    """Combine epoch and counter. Restoring a backup raises the epoch, because later grants may be lost."""
    return epoch << _COUNTER_BITS | counter
