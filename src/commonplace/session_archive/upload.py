"""One uploaded part of a session: decoded, validated, compared with the stored bytes, packed and studied.

All of this happens before the transaction that stores the part; `rooms/archives/upload.py` calls it in order.
"""

import asyncio
import hashlib
from dataclasses import dataclass

from commonplace import errors
from commonplace.session_archive import encodings, frames, study
from commonplace.session_archive.archive import MAX_PART_BYTES, MAX_SESSION_BYTES, ArchivedSession
from commonplace.session_archive.encodings import ContentEncoding
from commonplace.session_archive.frames import PackedFrame, StoredFrame
from commonplace.session_archive.session_bytes import SessionBytes, open_stored_frame
from commonplace.session_archive.study import StudyResult

# A longer line is stored but not studied.
_MAX_STUDIED_LINE_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class UploadedPart:
    """The decoded bytes of a part, and where they belong in the session."""

    offset: int
    content: bytes | bytearray

    @property
    def end(self) -> int:
        return self.offset + len(self.content)


def decode_text_content(text: str | None, gzip_base64: str | None) -> bytes | bytearray:
    if (text is None) == (gzip_base64 is None):
        raise errors.Invalid(
            "Missing or duplicate content.", hint="Set either content or content_gzip_base64, not both."
        )
    if gzip_base64 is not None:
        return decode_binary_content(encodings.decode_base64(gzip_base64), "gzip")
    return decode_binary_content((text or "").encode(), "identity")


def decode_binary_content(body: bytes, encoding: ContentEncoding) -> bytes | bytearray:
    return encodings.decode_body(body, encoding, MAX_PART_BYTES)


def validate_size(part: UploadedPart, declared_length: int | None) -> None:
    if not part.content:
        raise errors.Invalid("The part is empty.", hint="Send at least one byte.")
    if declared_length not in (None, len(part.content)):
        raise errors.Invalid(
            f"Content-Range declares {declared_length} bytes, but the part has {len(part.content)} after decoding.",
            hint="Count the bytes of the session, not those of the compressed body.",
        )
    if part.end > MAX_SESSION_BYTES:
        raise errors.TooLarge(
            f"A session has at most {MAX_SESSION_BYTES} bytes.", hint="Continue under another session_id."
        )


def validate_sha256(declared: str | None, part: UploadedPart, session_sha256: str) -> None:
    """Clients may declare the hash of the part or of the whole session including it."""
    if declared is None or declared == session_sha256:
        return
    part_sha256 = hashlib.sha256(part.content).hexdigest()
    if declared != part_sha256:
        raise errors.Invalid(
            "sha256 does not match these bytes.",
            hint="Compute it over the decoded bytes.",
            sha256=part_sha256,
        )


async def require_same_bytes(stored: SessionBytes, part: UploadedPart) -> None:
    """A part may be sent again unchanged; anything else must start where the stored bytes end."""
    if part.end > stored.archive.bytes:
        raise wrong_offset(stored.archive.bytes)
    at = 0
    async for piece in stored.read(part.offset, part.end):
        if part.content[at : at + len(piece)] != piece:
            raise wrong_offset(stored.archive.bytes)
        at += len(piece)


def wrong_offset(stored_bytes: int) -> errors.Conflict:
    return errors.Conflict(
        f"The session has {stored_bytes} stored bytes, and this part does not continue them.",
        hint=f"Continue with offset={stored_bytes}.",
        bytes=stored_bytes,
    )


async def pack_part(
    archive: ArchivedSession | None, last_frame: StoredFrame | None, storage: str, part: UploadedPart
) -> list[PackedFrame]:
    """The frames to write: the last stored one again, if it is not full, and those after it."""
    lines = archive.lines if archive else 0
    if last_frame is None or last_frame.position.is_full:
        return await asyncio.to_thread(frames.pack_frames, b"", part.offset, lines, part.content)
    position = last_frame.position
    last = await open_stored_frame(last_frame, storage)
    return await asyncio.to_thread(
        frames.pack_frames, last, position.first_byte, position.lines_before, part.content
    )


async def study_part(
    stored: SessionBytes | None, study_state: bytes, tool: str, part: UploadedPart
) -> StudyResult | None:
    """Study the lines that end in this part. The first may have begun in an earlier part; it may also be studied
    already, if only its newline was missing."""
    archive, start = (stored.archive if stored else None), 0
    beginning: bytes | None = b""
    first_line = archive.lines if archive else 0
    if archive and study.decode_progress(study_state).lines > first_line:
        start, first_line = part.content.find(b"\n") + 1, first_line + 1
        if not start:
            return None
    if part.content.find(b"\n", start) < 0 and not part.content.rstrip().endswith(b"}"):
        return None
    if stored and not start and stored.archive.line_start < stored.archive.bytes:
        beginning = await _read_unfinished_line(stored)
    content = memoryview(part.content)[start:]
    return await asyncio.to_thread(_study_content, study_state, tool, first_line, beginning, content)


async def _read_unfinished_line(stored: SessionBytes) -> bytes | None:
    """The stored beginning of the last line, or None if it is too long to study."""
    archive = stored.archive
    if archive.bytes - archive.line_start > _MAX_STUDIED_LINE_BYTES:
        return None
    return b"".join([piece async for piece in stored.read(archive.line_start, archive.bytes)])


def _study_content(
    study_state: bytes, tool: str, first_line: int, beginning: bytes | None, content: memoryview
) -> StudyResult | None:
    lines = study.split_complete_lines((beginning or b"") + content)
    if lines and beginning is None:
        lines[0] = b""
    return study.study_lines(study_state, tool, first_line, lines) if lines else None
