"""Arguments and replies of the lock operations. The lease itself is in `lease.py`."""

from typing import Annotated

import msgspec
from pydantic import Field

from commonplace.clock import iso
from commonplace.file_region import FileRegion, split_region
from commonplace.operation import Reply
from commonplace.rooms.locks.lease import Lease, LeaseMoment, LockRequest
from commonplace.store.database import Row
from commonplace.waiting import WaitSeconds

MAX_FILES_PER_CALL = 200
MAX_LOCKS_PER_SESSION = 1_000
MAX_LISTED_LOCKS = 200

LockPath = Annotated[str, Field(min_length=1, max_length=8_192)]
LockPaths = Annotated[list[LockPath], Field(min_length=1, max_length=MAX_FILES_PER_CALL)]
LockReason = Annotated[str, Field(max_length=500)]
LeaseMinutes = Annotated[int, Field(ge=1, le=240)]
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
    """Nobody holds it: until `expires_at` it is kept for `held_by`, who has waited for it."""

    @classmethod
    def from_lease(
        cls, request: LockRequest, lease: Lease, project: str, moment: LeaseMoment
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
    """Agents for which one of them is reserved now, because they waited for it longest; they were told."""
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
    """The file is free and reserved for this agent."""

    @classmethod
    def from_row(cls, row: Row, moment: LeaseMoment) -> "LockWaiter":
        file, region = split_region(row["path"])
        return cls(
            file=file,
            region=LockedRegion.from_region(region),
            agent=row["agent"],
            since=iso(row["at"]),
            reserved_until=moment.show_time(row["reserved_until"])
            if row["reserved_until"] > moment.lease
            else "",
        )


class LockListing(Reply):
    total_count: int
    locks: list[Lock]
    your_locks: list[OwnLock] = []
    wanted_by: list[LockWaiter] = []
    """Who asked for these in vain, the longest first; each is told when they are reserved for it."""
