"""Archived sessions as callers name them and as replies show them."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from commonplace import errors
from commonplace.clock import iso
from commonplace.operation import Reply

SESSION_BYTES = 256 * 1024 * 1024
PART_BYTES = 16 * 1024 * 1024
BYTES_PER_TOKEN = 4

SessionId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:@+~-]{0,199}$")]
Start = Annotated[int, Field(ge=0, le=SESSION_BYTES)]
Length = Annotated[int, Field(ge=1, le=SESSION_BYTES)]
Tool = Annotated[str, StringConstraints(min_length=1, max_length=64)]
Lines = Annotated[int, Field(ge=1, le=1000)]
Line = Annotated[int, Field(ge=0, le=SESSION_BYTES)]
Tokens = Annotated[int, Field(ge=100, le=25_000)]
View = Literal["chat", "raw"]
MatchesOfSession = Annotated[int, Field(ge=1, le=100)]
Status = Literal["stored", "extended", "duplicate"]


@dataclass(frozen=True, slots=True)
class Archive:
    """One session's transcript. `lines` counts ends of lines; `line_start` is where the unfinished last one begins."""

    project: str
    workspace: str
    session: str
    tool: str
    title: str
    bytes: int
    lines: int
    line_start: int
    compressed_bytes: int
    sha256: str
    started_at: int
    ended_at: int
    created_at: int
    updated_at: int

    @property
    def key(self) -> tuple[str, str, str]:
        return self.project, self.workspace, self.session

    @property
    def total_lines(self) -> int:
        return self.lines + (self.line_start < self.bytes)


class Uploaded(Reply):
    status: Status
    sha256: str
    lines: int
    bytes: int
    compressed_bytes: int


class Stored(Reply):
    """What a client needs to go on where it stopped."""

    bytes: int
    lines: int
    sha256: str
    compressed_bytes: int

    @classmethod
    def of(cls, archive: Archive) -> "Stored":
        return cls(
            bytes=archive.bytes,
            lines=archive.total_lines,
            sha256=archive.sha256,
            compressed_bytes=archive.compressed_bytes,
        )


class Listed(Reply):
    session_id: str
    title: str
    started_at: str
    ended_at: str
    lines: int
    bytes: int
    compressed_bytes: int
    sha256: str
    tool: str

    @classmethod
    def of(cls, archive: Archive) -> "Listed":
        return cls(
            session_id=archive.session,
            title=archive.title,
            started_at=iso(archive.started_at),
            ended_at=iso(archive.ended_at),
            lines=archive.total_lines,
            bytes=archive.bytes,
            compressed_bytes=archive.compressed_bytes,
            sha256=archive.sha256,
            tool=archive.tool,
        )


class Listing(Reply):
    sessions: list[Listed]
    total: int


class Inexact(Reply):
    """A line that text cannot show whole; its bytes are those from `first_byte` on."""

    line: int
    first_byte: int
    cut: bool = False


class RawPage(Reply):
    lines: list[str]
    offset: int
    total_lines: int
    has_more: bool
    inexact: list[Inexact] = []


def misplaced(stored: int) -> errors.Conflict:
    return errors.Conflict(
        f"{stored} bytes of this session are stored, and these do not follow them.",
        hint=f"Go on from byte {stored}, with offset={stored}.",
        bytes=stored,
    )


def unknown(workspace: str, session: str) -> errors.NotFound:
    return errors.NotFound(
        f"There is no session '{session}' in '{workspace}'.",
        hint="list_sessions with this workspace_id shows them.",
    )
