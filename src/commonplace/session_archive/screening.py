"""Mask the secrets of an uploaded part before it is stored.

Lines are masked when they are complete, in place, so that a stored byte has the offset that its client gave it. An
unfinished line is stored as it was sent until its end arrives; who reads it before gets it masked. A line longer than
`MAX_LINE_BYTES` is masked part by part.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass, field

from commonplace.masking.transcript_lines import SESSION_KIND, mask_lines_in_place
from commonplace.session_archive.session_bytes import SessionBytes
from commonplace.session_archive.study import ends_with_record

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
