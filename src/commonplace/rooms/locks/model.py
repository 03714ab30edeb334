"""Locks as calls ask for them and as replies show them."""

from typing import Annotated

from pydantic import Field

from commonplace.clock import iso
from commonplace.operation import Reply
from commonplace.rooms.locks.lease import Lease, Wish

MAX_FILES = 200
MAX_HELD = 1_000
MAX_SHOWN = 200

FilePath = Annotated[str, Field(min_length=1, max_length=8_192)]
Files = Annotated[list[FilePath], Field(min_length=1, max_length=MAX_FILES)]
Reason = Annotated[str, Field(max_length=500)]
Minutes = Annotated[int, Field(ge=1, le=240)]
WaitSeconds = Annotated[int, Field(ge=0, le=60)]


class Grant(Reply):
    file: str
    token: int
    expires_at: str

    @classmethod
    def of(cls, lease: Lease) -> "Grant":
        return cls(file=lease.path, token=lease.token, expires_at=iso(lease.expires_at))


class Taken(Reply):
    """Why a file was not granted; `lock` is the path of the other's lock where it is not the same."""

    file: str
    held_by: str
    project: str
    since: str
    reason: str
    expires_at: str
    stale: bool
    mode: str
    lock: str = ""

    @classmethod
    def of(cls, wish: Wish, lease: Lease, project: str, now: int) -> "Taken":
        return cls(
            file=wish.path,
            held_by=lease.agent,
            project=project,
            since=iso(lease.granted_at),
            reason=lease.reason,
            expires_at=iso(lease.expires_at),
            stale=lease.stale(now),
            mode=lease.mode,
            lock="" if lease.path == wish.path else lease.path,
        )


class Locked(Reply):
    success: bool
    locked: list[Grant] = []
    conflicts: list[Taken] = []
    message: str = ""


class Unlocked(Reply):
    released: list[str] = []
    still_held: list[str] = []
    not_held: list[str] = []


class Lock(Reply):
    file: str
    held_by: str
    since: str
    reason: str
    expires_at: str
    stale: bool
    mode: str

    @classmethod
    def of(cls, lease: Lease, now: int) -> "Lock":
        return cls(
            file=lease.path,
            held_by=lease.agent,
            since=iso(lease.granted_at),
            reason=lease.reason,
            expires_at=iso(lease.expires_at),
            stale=lease.stale(now),
            mode=lease.mode,
        )


class OwnLock(Reply):
    file: str
    token: int
    since: str
    reason: str
    expires_at: str
    mode: str

    @classmethod
    def of(cls, lease: Lease) -> "OwnLock":
        return cls(
            file=lease.path,
            token=lease.token,
            since=iso(lease.granted_at),
            reason=lease.reason,
            expires_at=iso(lease.expires_at),
            mode=lease.mode,
        )


class Locks(Reply):
    total_count: int
    locks: list[Lock] = []
    your_locks: list[OwnLock] = []
