"""Arguments and replies about archived sessions."""

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from commonplace.clock import iso
from commonplace.operation import Reply
from commonplace.transcripts.archive.frames import MAX_PART_BYTES, MAX_SESSION_BYTES, ArchivedSession

BYTES_PER_TOKEN = 4

ArchivedSessionId = Annotated[
    str, StringConstraints(max_length=200, pattern=r"^[A-Za-z0-9][A-Za-z0-9._:@+~-]{0,199}$")
]
PartText = Annotated[str, Field(max_length=MAX_PART_BYTES)]
PartBytes = Annotated[bytes, Field(max_length=MAX_PART_BYTES)]
EncodedPart = Annotated[str, Field(max_length=2 * MAX_PART_BYTES)]
ByteOffset = Annotated[int, Field(ge=0, le=MAX_SESSION_BYTES, description="Bytes stored so far.")]
ByteLength = Annotated[int, Field(ge=1, le=MAX_SESSION_BYTES)]
ToolName = Annotated[str, StringConstraints(min_length=1, max_length=64)]
LineLimit = Annotated[int, Field(ge=1, le=1000)]
LineNumber = Annotated[int, Field(ge=0, le=MAX_SESSION_BYTES, description="First line, from 0.")]
MaxTokens = Annotated[int, Field(ge=100, le=25_000)]
TranscriptLimit = Annotated[int, Field(ge=1, le=200)]
MatchesOfSession = Annotated[int, Field(ge=1, le=100)]
UploadStatus = Literal["stored", "extended", "duplicate"]


class UploadReceipt(Reply):
    status: UploadStatus
    sha256: str
    lines: int
    bytes: int
    compressed_bytes: int
    masked: dict[str, int] = {}
    """How many secrets of each kind this part had; they are masked in the same number of bytes."""


class StoredSession(Reply):
    """What a client needs to continue an upload."""

    bytes: int
    lines: int
    sha256: str
    compressed_bytes: int

    @classmethod
    def from_archive(cls, archive: ArchivedSession) -> "StoredSession":
        return cls(
            bytes=archive.bytes,
            lines=archive.total_lines,
            sha256=archive.sha256,
            compressed_bytes=archive.compressed_bytes,
        )


class ListedSession(Reply):
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
    def from_archive(cls, archive: ArchivedSession) -> "ListedSession":
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


class ArchivedSessions(Reply):
    sessions: list[ListedSession]
    total: int


class ListedTranscript(Reply):
    project: str
    workspace_id: str
    session_id: str
    title: str
    tool: str
    started_at: str
    ended_at: str
    lines: int
    bytes: int


class TranscriptPage(Reply):
    count: int
    transcripts: list[ListedTranscript]


class TranscriptError(Reply):
    line: int
    text: str
    times: int
    command: str = ""
    followed: list[Any] = []
    fixed_line: int = 0


class TranscriptErrors(Reply):
    count: int
    errors: list[TranscriptError]
