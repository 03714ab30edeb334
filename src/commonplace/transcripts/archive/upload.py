"""One uploaded part of a session: decoded, validated, compared with the stored bytes, masked, hashed, packed and studied.

All of this happens before the transaction that stores the part; `rooms/archives/upload.py` calls it in order. Lines are
masked when they are complete, in place, so that a stored byte has the offset that its client gave it. An unfinished
line is stored as it was sent until its end arrives; who reads it before gets it masked. A line longer than
`MAX_LINE_BYTES` is masked part by part.
"""

import asyncio
import base64
import binascii
import hashlib
import zlib
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from commonplace import errors, zstd
from commonplace.masking.transcript_lines import (
    MAX_MASK_BYTES,
    SESSION_KIND,
    mask_lines_in_place,
    matches_masked,
)
from commonplace.transcripts.archive import frames, study
from commonplace.transcripts.archive.frames import (
    MAX_PART_BYTES,
    MAX_SESSION_BYTES,
    ArchivedSession,
    PackedFrame,
    SessionBytes,
    StoredFrame,
    open_stored_frame,
)
from commonplace.transcripts.archive.study import StudyResult, ends_with_record

ContentEncoding = Literal["identity", "gzip", "zstd"]

_PIECE_BYTES = 64 * 1024
_MAX_MEMBERS = 1024
_GZIP_WINDOW_BITS = 16 + zlib.MAX_WBITS
# A part has at most 16 MB, so a larger window is never needed.
_ZSTD_OPTIONS = {int(zstd.DecompressionParameter.window_log_max): 24}


class _Decoder(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /, max_length: int) -> bytes: ...


_DECODERS: dict[str, Callable[[], _Decoder]] = {
    "gzip": lambda: zlib.decompressobj(_GZIP_WINDOW_BITS),
    "zstd": lambda: zstd.ZstdDecompressor(options=_ZSTD_OPTIONS),
}


def decode_body(body: bytes, encoding: ContentEncoding, limit: int) -> bytes:
    """Decode an uploaded body; refuse it as soon as it exceeds `limit` bytes."""
    if encoding == "identity":
        if len(body) > limit:
            raise _part_too_large(limit)
        return body
    return _decompress(memoryview(body), encoding, limit)


def decode_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise errors.Invalid(
            "content_gzip_base64 is not valid base64.", hint="Send base64 of gzip."
        ) from None


def _decompress(body: memoryview, encoding: ContentEncoding, limit: int) -> bytes:
    out, at = bytearray(), 0
    for _ in range(_MAX_MEMBERS):
        try:
            at = _decompress_member(body, at, _DECODERS[encoding](), out, limit)
        except (zlib.error, zstd.ZstdError) as error:
            raise errors.Invalid(f"Invalid {encoding} at byte {at}: {error}.", hint=_SEND_AGAIN) from None
        if at == len(body):
            return bytes(out)
    raise errors.Invalid(
        f"The {encoding} has more than {_MAX_MEMBERS} members.", hint="Compress it as one member."
    )


def _decompress_member(body: memoryview, at: int, decoder: _Decoder, out: bytearray, limit: int) -> int:
    """Decompress one member and return where the next one begins. Feeds small pieces so that the tail is not copied
    for every member."""
    while not decoder.eof:
        piece = bytes(body[at : at + _PIECE_BYTES])
        if not piece:
            raise errors.Invalid("The compressed body is truncated.", hint=_SEND_AGAIN)
        out += decoder.decompress(piece, max_length=limit - len(out) + 1)
        if len(out) > limit:
            raise _part_too_large(limit)
        at += len(piece)
    return at - len(decoder.unused_data)


def _part_too_large(limit: int) -> errors.TooLarge:
    return errors.TooLarge(
        f"A part has at most {limit} bytes after decompression.", hint="Send the session in smaller parts."
    )


_SEND_AGAIN = "Compress it again and send it whole."


if TYPE_CHECKING:
    from hashlib import _Hash

_MAX_RUNNING_HASHES = 1024
_running: OrderedDict[str, "_Hash"] = OrderedDict()


async def extend_digest(stored: SessionBytes | None, appended: bytes) -> tuple[str, bool]:
    """The digest of the bytes sent so far followed by `appended`, and whether it is exact: once lines were masked, only
    a running hash knows what was sent, and after a restart the digest is that of the stored bytes."""
    running, is_exact = await _hash_stored_bytes(stored) if stored else (hashlib.sha256(), True)
    await asyncio.to_thread(running.update, appended)
    if is_exact:
        _remember_hash(running)
    return running.hexdigest(), is_exact


async def _hash_stored_bytes(stored: SessionBytes) -> tuple["_Hash", bool]:
    archive = stored.archive
    if running_hash := _running.get(archive.sha256):
        return running_hash.copy(), True
    running = hashlib.sha256()
    async for piece in stored.read_all():
        await asyncio.to_thread(running.update, piece)
    if running.hexdigest() == archive.sha256:
        return running, True
    if not archive.masked_lines:
        raise frames.damaged_frame(frames.FramePosition(0, archive.bytes, 0, 0))
    return running, False


def _remember_hash(running: "_Hash") -> None:
    _running[running.hexdigest()] = running
    if len(_running) > _MAX_RUNNING_HASHES:
        _running.popitem(last=False)


MAX_LINE_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ScreenedPart:
    """The bytes to store from `first` on. That is before the part if the beginning of its first line, which is stored
    already, turned out to be a secret."""

    first: int
    content: bytes
    offset: int
    beginning: bytes | None = b""
    """The masked beginning of the first line, if it is in an earlier part; None if it is too long to read."""
    counts: Counter[str] = field(default_factory=Counter)
    masked_lines: int = 0

    @property
    def part_start(self) -> int:
        """Where the part begins in `content`."""
        return self.offset - self.first


async def screen_part(
    stored: SessionBytes | None, offset: int, content: bytes, *, keeps_secrets: bool
) -> ScreenedPart:
    unfinished = stored.archive.bytes - stored.archive.line_start if stored else 0
    ends_line = b"\n" in content or content.rstrip().endswith(b"}")
    if not ends_line and unfinished + len(content) <= MAX_LINE_BYTES:
        return ScreenedPart(offset, content, offset)
    beginning = await _read_unfinished_line(stored) if stored and unfinished else b""
    if keeps_secrets:
        return ScreenedPart(offset, content, offset, beginning)
    return await asyncio.to_thread(_mask_part, offset, beginning, content)


async def list_secret_kinds(stored: SessionBytes | None, content: bytes) -> list[str]:
    """The kinds of secrets in a part, with the unfinished line that it continues.

    Ids of our own sessions are none: every transcript of an agent with a boot pack has one.
    """
    is_unfinished = stored is not None and stored.archive.bytes > stored.archive.line_start
    beginning = await _read_unfinished_line(stored) if stored and is_unfinished else b""
    masked = await asyncio.to_thread(mask_lines_in_place, (beginning or b"") + content)
    return sorted(masked.counts.keys() - {SESSION_KIND})


async def _read_unfinished_line(stored: SessionBytes) -> bytes | None:
    archive = stored.archive
    if archive.bytes - archive.line_start > MAX_LINE_BYTES:
        return None
    return b"".join([piece async for piece in stored.read(archive.line_start, archive.bytes)])


def _mask_part(offset: int, beginning: bytes | None, content: bytes) -> ScreenedPart:
    joined = beginning + content if beginning else content
    end = joined.rfind(b"\n") + 1
    if ends_with_record(joined[end:]) or len(joined) - end > MAX_LINE_BYTES:
        end = len(joined)
    masked = mask_lines_in_place(joined, end)
    if not masked.counts:
        return ScreenedPart(offset, content, offset, beginning)
    safe = masked.content
    length = len(beginning or b"")
    is_same_beginning = beginning is None or safe.startswith(beginning)
    return ScreenedPart(
        offset if is_same_beginning else offset - length,
        safe[length:] if is_same_beginning else safe,
        offset,
        None if beginning is None else safe[:length],
        masked.counts,
        masked.changed_lines,
    )


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
        return decode_binary_content(decode_base64(gzip_base64), "gzip")
    return decode_binary_content((text or "").encode(), "identity")


def decode_binary_content(body: bytes, encoding: ContentEncoding) -> bytes:
    return decode_body(body, encoding, MAX_PART_BYTES)


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
