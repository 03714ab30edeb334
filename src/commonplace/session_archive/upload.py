"""One uploaded part of a session: decoded, validated, compared with the stored bytes, packed and studied.

All of this happens before the transaction that stores the part; `rooms/archives/upload.py` calls it in order.
"""

import asyncio
import hashlib
from dataclasses import dataclass

from commonplace import errors
from commonplace.masking.transcript_lines import MAX_MASK_BYTES, matches_masked
from commonplace.session_archive import encodings, frames, study
from commonplace.session_archive.archive import MAX_PART_BYTES, MAX_SESSION_BYTES, ArchivedSession
from commonplace.session_archive.encodings import ContentEncoding
from commonplace.session_archive.frames import PackedFrame, StoredFrame
from commonplace.session_archive.screening import MAX_LINE_BYTES, ScreenedPart
from commonplace.session_archive.session_bytes import SessionBytes, open_stored_frame
from commonplace.session_archive.study import StudyResult

_MAX_REPLACED_FRAMES = MAX_LINE_BYTES // frames.FRAME_BYTES + 2


@dataclass(frozen=True, slots=True)
class UploadedPart:
    """The decoded bytes of a part, and where they belong in the session."""

    offset: int
    content: bytes

    @property
    def end(self) -> int:
        return self.offset + len(self.content)


def decode_text_content(text: str | None, gzip_base64: str | None) -> bytes:
    if (text is None) == (gzip_base64 is None):
        raise errors.Invalid(
            "Missing or duplicate content.", hint="Set either content or content_gzip_base64, not both."
        )
    if gzip_base64 is not None:
        return decode_binary_content(encodings.decode_base64(gzip_base64), "gzip")
    return decode_binary_content((text or "").encode(), "identity")


def decode_binary_content(body: bytes, encoding: ContentEncoding) -> bytes:
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


def validate_sha256(
    declared: str | None, part: UploadedPart, session_sha256: str, *, is_exact: bool = True
) -> None:
    """Clients may declare the hash of the part or of the whole session including it. The latter cannot be checked if
    the server has masked bytes of the session and no longer knows their hash (`is_exact`)."""
    if declared is None or declared == session_sha256 or not is_exact:
        return
    part_sha256 = hashlib.sha256(part.content).hexdigest()
    if declared != part_sha256:
        raise errors.Invalid(
            "sha256 does not match these bytes.",
            hint="Compute it over the decoded bytes.",
            sha256=part_sha256,
        )


async def require_same_bytes(stored: SessionBytes, part: UploadedPart) -> None:
    """A part may be sent again unchanged; anything else must start where the stored bytes end. Bytes that were masked
    may have been anything."""
    archive = stored.archive
    if part.end > archive.bytes:
        raise wrong_offset(archive.bytes)
    first, end = max(0, part.offset - MAX_MASK_BYTES), min(archive.bytes, part.end + MAX_MASK_BYTES)
    around = b"".join([piece async for piece in stored.read(first, end)])
    start = part.offset - first
    if around[start : start + len(part.content)] == part.content:
        return
    if not archive.masked_lines or not await asyncio.to_thread(matches_masked, part.content, around, start):
        raise wrong_offset(archive.bytes)


def wrong_offset(stored_bytes: int) -> errors.Conflict:
    return errors.Conflict(
        f"The session has {stored_bytes} stored bytes, and this part does not continue them.",
        hint=f"Continue with offset={stored_bytes}.",
        bytes=stored_bytes,
    )


async def pack_part(
    stored: SessionBytes | None, last_frame: StoredFrame | None, screened: ScreenedPart
) -> tuple[list[PackedFrame], list[StoredFrame]]:
    """The frames to write, and the stored ones that they replace: the last, if it is not full, and those of an
    unfinished line whose beginning is now masked."""
    if stored is None or last_frame is None:
        return await asyncio.to_thread(frames.pack_frames, b"", 0, 0, screened.content), []
    first, lines = screened.first, stored.archive.lines
    if first == last_frame.position.end and last_frame.position.is_full:
        return await asyncio.to_thread(frames.pack_frames, b"", first, lines, screened.content), []
    replaced = (
        [last_frame]
        if first >= last_frame.position.first_byte
        else await stored.load_frames(first, _MAX_REPLACED_FRAMES)
    )
    position = replaced[0].position
    kept = (await open_stored_frame(replaced[0], stored.storage))[: first - position.first_byte]
    packed = await asyncio.to_thread(
        frames.pack_frames, kept, position.first_byte, position.lines_before, screened.content
    )
    return packed, replaced


async def study_part(
    archive: ArchivedSession | None, study_state: bytes, tool: str, screened: ScreenedPart
) -> StudyResult | None:
    """Study the lines that end in this part. The first may have begun in an earlier part; it may also be studied
    already, if only its newline was missing."""
    content, start, beginning = screened.content, screened.part_start, screened.beginning
    first_line = archive.lines if archive else 0
    if archive and study.decode_progress(study_state).lines > first_line:
        after_newline = content.find(b"\n", start) + 1
        if not after_newline:
            return None
        start, first_line, beginning = after_newline, first_line + 1, b""
    if content.find(b"\n", start) < 0 and not content.rstrip().endswith(b"}"):
        return None
    return await asyncio.to_thread(_study_content, study_state, tool, first_line, beginning, content, start)


def _study_content(
    study_state: bytes, tool: str, first_line: int, beginning: bytes | None, content: bytes, start: int
) -> StudyResult | None:
    lines = study.join_complete_lines(beginning, content, start)
    return None if lines is None else study.study_lines(study_state, tool, first_line, lines)
