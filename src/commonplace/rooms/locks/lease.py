"""A lease, and what may be granted beside it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from commonplace.clock import MINUTE, SECOND
from commonplace.rooms.locks import paths, prefixes
from commonplace.store.database import Row

Mode = Literal["exclusive", "shared"]

DELAY = 15 * SECOND
"""After a lease lapses only its holder may take it back for so long: a quarter of the shortest lease."""

IDLE_AFTER = 5 * MINUTE
ENOUGH = 200
"""So many conflicts say enough."""

_COUNTER_BITS = 40


@dataclass(frozen=True, slots=True)
class Lease:
    path: str
    pattern: paths.Pattern
    prefix: str
    session: str
    agent: str
    mode: Mode
    token: int
    reason: str
    ttl: int
    granted_at: int
    expires_at: int
    active_at: int = 0
    ended: bool = False

    @classmethod
    def of(cls, row: Row, fold: bool) -> "Lease":
        return cls(
            row["path"],
            paths.parse(row["path"], (), fold),
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

    def blocks(self, now: int) -> bool:
        """Alive, or lapsed so recently that only its holder may take it back."""
        return not self.ended and now < self.expires_at + DELAY

    def stale(self, now: int) -> bool:
        return now >= self.expires_at or now - self.active_at > IDLE_AFTER


@dataclass(frozen=True, slots=True)
class Wish:
    """A path that a session asks for."""

    path: str
    pattern: paths.Pattern
    prefix: str
    mode: Mode

    @classmethod
    def of(cls, path: str, mode: Mode, fold: bool) -> "Wish":
        return cls(path, paths.parse(path, (), fold), prefixes.of_pattern(path), mode)

    @property
    def has_below(self) -> bool:
        return self.pattern.kind != "literal"

    def excludes(self, lease: Lease) -> bool:
        if self.mode == lease.mode == "shared" or not prefixes.near(self.prefix, lease.prefix):
            return False
        return paths.overlaps(self.pattern, lease.pattern)


@dataclass(slots=True)
class Decision:
    """What stands in the way, what may be taken over, and what the session holds already (by path asked for)."""

    conflicts: list[tuple[Wish, Lease]] = field(default_factory=list)
    lapsed: dict[int, Lease] = field(default_factory=dict)
    held: dict[str, Lease] = field(default_factory=dict)


def decide(wishes: Sequence[Wish], leases: Iterable[Lease], session: str, now: int) -> Decision:
    """All or nothing: any conflict refuses every wish. A session's own lease never stands in its way."""
    decision = Decision()
    own = {}
    for lease in leases:
        if len(decision.conflicts) >= ENOUGH:
            break
        if lease.session == session:
            own[lease.pattern.segments] = lease
            continue
        for wish in wishes:
            if not wish.excludes(lease):
                continue
            if lease.blocks(now):
                decision.conflicts.append((wish, lease))
            else:
                decision.lapsed[lease.token] = lease
    decision.held = {wish.path: own[wish.pattern.segments] for wish in wishes if wish.pattern.segments in own}
    return decision


@dataclass(frozen=True, slots=True)
class Terms:
    """What one call asks for beside the paths."""

    session: str
    agent: str
    mode: Mode
    reason: str
    ttl: int
    now: int


def granted(wish: Wish, held: Lease | None, token: int, terms: Terms) -> Lease:
    """The lease as it stands from now on; one that is alive is renewed and keeps its token and its start."""
    expires_at = terms.now + terms.ttl
    if held is None or not held.blocks(terms.now):
        return _lease(wish.path, wish, terms, terms.mode, token, terms.reason, terms.now, expires_at)
    upgraded = held.mode == "shared" and terms.mode == "exclusive"
    return _lease(
        held.path,
        wish,
        terms,
        terms.mode if upgraded else held.mode,
        token if upgraded else held.token,
        terms.reason or held.reason,
        held.granted_at,
        max(held.expires_at, expires_at),
    )


def _lease(
    path: str, wish: Wish, terms: Terms, mode: Mode, token: int, reason: str, since: int, until: int
) -> Lease:
    return Lease(
        path,
        wish.pattern,
        wish.prefix,
        terms.session,
        terms.agent,
        mode,
        token,
        reason,
        terms.ttl,
        since,
        until,
    )


def token(epoch: int, counter: int) -> int:
    """A restored backup raises the epoch, since it may have lost grants that its counter does not know."""
    return epoch << _COUNTER_BITS | counter
