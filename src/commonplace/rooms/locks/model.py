"""Leases, the decision whether a request may be granted, and the arguments and replies of the lock operations.

Pure logic without a store: `store.py` loads and saves the leases, `paths.py` compares their paths.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

import msgspec
from pydantic import Field

from commonplace.arguments import AgentName
from commonplace.clock import MINUTE, SECOND, iso
from commonplace.file_region import FileRegion, merge_regions, region_covers, regions_overlap, split_region
from commonplace.operation import Reply
from commonplace.rooms.locks import paths
from commonplace.store.database import Row
from commonplace.waiting import WaitSeconds

LockMode = Literal["exclusive", "shared"]

TAKEOVER_DELAY = 15 * SECOND
"""How long after its expiry only the old holder may renew a lease: a quarter of the shortest lease."""

STALE_AFTER = 5 * MINUTE
MAX_CONFLICTS = 200


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
    """The path as it is stored, with the region that is leased."""
    file: str
    region: FileRegion | None
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
    is_reservation: bool = False
    """Nobody holds it yet: it is kept for a session that waited for it (`waiting.py`)."""

    @classmethod
    def from_row(cls, row: Row, fold: bool) -> "Lease":
        file, region = split_region(row["path"])
        return cls(
            row["path"],
            file,
            region,
            paths.parse_pattern(file, (), fold),
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

    @property
    def name(self) -> str:
        """What is leased, as people read it."""
        return self.file + self.region.name if self.region else self.file

    def covers_path(self, path: str) -> bool:
        """Whether the lease protects this canonical path or a part of it, read as a plain file name."""
        fold = self.pattern.fold
        inside = self.pattern.kind == "literal" and paths.is_same_or_inside(path, self.file, fold)
        return inside or paths.matches_path(self.pattern, path)

    def is_stale(self, moment: LeaseMoment) -> bool:
        return moment.lease >= self.expires_at or moment.wall - self.active_at > STALE_AFTER


@dataclass(frozen=True, slots=True)
class LockRequest:
    """One path, or a region of one file, that a session wants to lock."""

    path: str
    file: str
    region: FileRegion | None
    pattern: paths.PathPattern
    prefix: str
    mode: LockMode

    @classmethod
    def from_path(cls, path: str, mode: LockMode, fold: bool) -> "LockRequest":
        """The path is canonical and may end with a region."""
        file, region = split_region(path)
        pattern = paths.parse_pattern(file, (), fold)
        return cls(path, file, region, pattern, paths.prefix_of_pattern(file), mode)

    def conflicts_with(self, lease: Lease) -> bool:
        if self.mode == lease.mode == "shared" or not paths.prefixes_overlap(self.prefix, lease.prefix):
            return False
        if not self._overlaps_pattern(lease.pattern):
            return False
        return self.pattern.segments != lease.pattern.segments or regions_overlap(self.region, lease.region)

    def overlaps_path(self, path: str, fold: bool) -> bool:
        """Whether they have a file in common; `path` may end with a region."""
        return self._overlaps_pattern(paths.parse_pattern(split_region(path)[0], (), fold))

    def covers_request(self, other: "LockRequest") -> bool:
        if not paths.covers_pattern(self.pattern, other.pattern):
            return False
        is_same_file = self.pattern.segments == other.pattern.segments
        return region_covers(self.region, other.region) if is_same_file else self.region is None

    def is_held_by(self, lease: Lease) -> bool:
        """Whether a lease of the session itself already gives what is asked for, or can be upgraded to it."""
        if lease.pattern.lock_key != self.pattern.lock_key:
            return False
        if (lease.region and lease.region.text) == (self.region and self.region.text):
            return True
        has_mode = lease.mode == "exclusive" or self.mode == "shared"
        return has_mode and self.region is not None and region_covers(lease.region, self.region)

    def names_lease(self, lease: Lease) -> bool:
        """Whether somebody who passes this path means the lease: the file means every region of it."""
        if lease.pattern.lock_key != self.pattern.lock_key:
            return False
        if self.region is None or lease.region is None:
            return self.region is None
        if self.region.bases:
            return self.region.text == lease.region.text
        is_symbol = not self.region.spans_by_base and self.region.symbols == lease.region.symbols
        return is_symbol or self.region.name == lease.region.name

    def _overlaps_pattern(self, pattern: paths.PathPattern) -> bool:
        return (
            paths.patterns_overlap(self.pattern, pattern)
            or paths.contains_pattern(self.pattern, pattern)
            or paths.contains_pattern(pattern, self.pattern)
        )


@dataclass(slots=True)
class LockDecision:
    """The conflicts, the leases to take over (by token), and the session's own leases (by requested path).

    `lapsed` were not renewed in time; `yielded` are those of dormant sessions of the same agent. `held` are renewed; `joined` are regions of the same file that become one with what is asked for.
    """

    conflicts: list[tuple[LockRequest, Lease]] = field(default_factory=list)
    lapsed: dict[int, Lease] = field(default_factory=dict)
    yielded: dict[int, Lease] = field(default_factory=dict)
    held: dict[str, Lease] = field(default_factory=dict)
    joined: dict[str, list[Lease]] = field(default_factory=dict)


def decide_requests(
    requests: Sequence[LockRequest],
    leases: Iterable[Lease],
    session: str,
    now: int,
    dormant: Collection[str] = (),
) -> LockDecision:
    """Compare requests with leases; any conflict refuses them all. A session never conflicts with itself, nor with the
    dormant sessions of its agent."""
    decision = LockDecision()
    own: list[Lease] = []
    for lease in leases:
        if len(decision.conflicts) >= MAX_CONFLICTS:
            break
        if lease.session == session:
            own.append(lease)
            continue
        for request in requests:
            if not request.conflicts_with(lease):
                continue
            if not lease.blocks_others(now):
                decision.lapsed[lease.token] = lease
            elif lease.session in dormant:
                decision.yielded[lease.token] = lease
            else:
                decision.conflicts.append((request, lease))
    _find_own_leases(decision, requests, own, now)
    return decision


def _find_own_leases(
    decision: LockDecision, requests: Sequence[LockRequest], own: Sequence[Lease], now: int
) -> None:
    alive = [lease for lease in own if lease.blocks_others(now)]
    for request in requests:
        if held := [lease for lease in alive if request.is_held_by(lease)]:
            # The lease of exactly this path before one that covers it.
            decision.held[request.path] = max(
                held, key=lambda lease: (lease.path == request.path, lease.token)
            )
    used = {lease.token for lease in decision.held.values()}
    for request in requests:
        if request.path in decision.held:
            continue
        if joined := [lease for lease in alive if lease.token not in used and _can_join(request, lease)]:
            decision.joined[request.path] = joined
            used |= {lease.token for lease in joined}


def _can_join(request: LockRequest, lease: Lease) -> bool:
    is_alike = lease.mode == request.mode and lease.pattern.lock_key == request.pattern.lock_key
    regions = (lease.region, request.region)
    return bool(is_alike and regions[0] and regions[1] and merge_regions(regions[0], regions[1]))


MAX_FILES_PER_CALL = 200
MAX_LOCKS_PER_SESSION = 1_000
MAX_LISTED_LOCKS = 200

LockPath = Annotated[str, Field(min_length=1, max_length=8_192)]
LockPaths = Annotated[list[LockPath], Field(min_length=1, max_length=MAX_FILES_PER_CALL)]
LockReason = Annotated[str, Field(max_length=500)]
DEFAULT_LEASE_MINUTES = 30
MAX_LEASE_MINUTES = 240
LeaseMinutes = Annotated[int, Field(ge=1, le=MAX_LEASE_MINUTES)]
LockWaitSeconds = WaitSeconds


class LockedRegion(Reply):
    """The part of a file that is locked: the lines `from` to `to`, or a symbol by its name."""

    first: int | None = msgspec.field(name="from", default=None)
    to: int | None = None
    lines: str = ""
    """The lines, if they are not one range; `40+` is what is inserted after line 40."""
    symbol: str = ""

    @classmethod
    def from_region(cls, region: FileRegion | None) -> "LockedRegion | None":
        if region is None:
            return None
        spans = next(iter(region.spans_by_base.values()), ())
        is_range = len(spans) == 1 and spans[0].start < spans[0].end
        return cls(
            first=min(span.start + (span.start < span.end) for span in spans) if spans else None,
            to=max(span.end for span in spans) if spans else None,
            lines="" if is_range else region.lines,
            symbol=", ".join(region.symbols),
        )


class LockGrant(Reply):
    file: str
    token: int
    expires_at: str
    region: LockedRegion | None = None

    @classmethod
    def from_lease(cls, lease: Lease, moment: LeaseMoment) -> "LockGrant":
        return cls(
            file=lease.file,
            region=LockedRegion.from_region(lease.region),
            token=lease.token,
            expires_at=moment.show_time(lease.expires_at),
        )


def _show_bases(lease: Lease, request: LockRequest | None) -> list[str]:
    is_asked = request is not None and request.region is not None and request.region.bases
    return lease.region.bases if lease.region and is_asked else []


class LockConflict(Reply):
    """Why a file was not locked; `lock` is what the other has locked if it is not the whole `file`.

    `bases` are the versions of the file that its lines are known in, for a client that can translate its own.
    """

    file: str
    held_by: str
    project: str
    since: str
    reason: str
    expires_at: str
    stale: bool
    mode: str
    lock: str = ""
    region: LockedRegion | None = None
    bases: list[str] = []
    reserved: bool = False
    """Nobody holds it: until `expires_at` it is the turn of `held_by`, who has waited for it."""
    works_on: str = ""
    """What its holder works on."""

    @classmethod
    def from_lease(
        cls, request: LockRequest, lease: Lease, project: str, moment: LeaseMoment, works_on: str = ""
    ) -> "LockConflict":
        return cls(
            file=request.file,
            region=LockedRegion.from_region(lease.region),
            bases=_show_bases(lease, request),
            held_by=lease.agent,
            project=project,
            since=moment.show_time(lease.granted_at),
            reason=lease.reason,
            expires_at=moment.show_time(lease.expires_at),
            stale=lease.is_stale(moment),
            mode=lease.mode,
            lock="" if lease.name == request.file else lease.name,
            reserved=lease.is_reservation,
            works_on=works_on,
        )


class ChangedFile(Reply):
    """A locked file that another agent changed since the caller last did, or since its session began."""

    file: str
    age: str
    changed_by: str = ""
    """Who reported the last change."""
    last_locked_by: str = ""
    """Who had it locked since then, and reported nothing: it may have changed."""


class LockFilesReply(Reply):
    success: bool
    locked: list[LockGrant]
    conflicts: list[LockConflict] = []
    changed: list[ChangedFile] = []
    """Files to read again before editing them."""
    wanted_by: list[str] = []
    """Agents that wait for one of the locked files."""
    message: str = ""


class UnlockFilesReply(Reply):
    released: list[str]
    still_held: list[str] = []
    not_held: list[str] = []
    notified: list[str] = []
    """Agents that waited for one of them: they were told that it is free."""
    withdrawn: list[str] = []
    """Paths that the caller waited for and is not told about any more."""


class Lock(Reply):
    file: str
    held_by: str
    since: str
    reason: str
    expires_at: str
    stale: bool
    mode: str
    region: LockedRegion | None = None
    bases: list[str] = []
    """The versions that its lines are known in, for a client that asked about lines of a version."""

    @classmethod
    def from_lease(cls, lease: Lease, moment: LeaseMoment, request: LockRequest | None = None) -> "Lock":
        return cls(
            file=lease.file,
            region=LockedRegion.from_region(lease.region),
            bases=_show_bases(lease, request),
            held_by=lease.agent,
            since=moment.show_time(lease.granted_at),
            reason=lease.reason,
            expires_at=moment.show_time(lease.expires_at),
            stale=lease.is_stale(moment),
            mode=lease.mode,
        )


class OwnLock(Reply):
    file: str
    token: int
    since: str
    reason: str
    expires_at: str
    mode: str
    region: LockedRegion | None = None
    earlier_session: bool = False
    """An earlier session of the agent holds it, which made no call since this one started: memory_lock_files takes
    it over, with a new token."""

    @classmethod
    def from_lease(cls, lease: Lease, moment: LeaseMoment, session: str) -> "OwnLock":
        return cls(
            file=lease.file,
            region=LockedRegion.from_region(lease.region),
            token=lease.token,
            since=moment.show_time(lease.granted_at),
            reason=lease.reason,
            expires_at=moment.show_time(lease.expires_at),
            mode=lease.mode,
            earlier_session=lease.session != session,
        )


class LockWaiter(Reply):
    """An agent that asked for a path in vain."""

    file: str
    agent: str
    since: str
    region: LockedRegion | None = None
    reserved_until: str = ""
    """The file is free and it is the turn of this agent."""


class LockListing(Reply):
    total_count: int
    locks: list[Lock]
    your_locks: list[OwnLock] = []
    wanted_by: list[LockWaiter] = []
    """Who asked for these in vain, the longest first; each is told when they are free."""


ReleaseReason = Annotated[str, Field(min_length=1, max_length=500, description="Why; the holder is told.")]
ShortSession = Annotated[
    str,
    Field(
        min_length=12, max_length=12, description="The session that held it, as memory_release_lock named it."
    ),
]
Holder = Annotated[AgentName, Field(description="Who holds or held it.")]
HeldPath = Annotated[LockPath, Field(description="What is held, as memory_list_locks names it.")]


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
    """Agents that waited for one of them: they were told that it is free."""


class ReturnedLock(Reply):
    file: str
    agent: str
    expires_at: str
