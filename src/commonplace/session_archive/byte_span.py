"""A range of a session's bytes, for programs that fetch transcripts as bytes. Pages of lines are in `raw_page.py`."""

import asyncio
from dataclasses import dataclass

from commonplace.masking.transcript_lines import mask_lines_in_place
from commonplace.session_archive.frames import StoredFrame
from commonplace.session_archive.session_bytes import open_stored_frame, slice_bytes


@dataclass(frozen=True, slots=True)
class ByteSpan:
    """The bytes from `first` up to `end`, and the frames that hold them; with the lines around them if those are not
    masked in the store."""

    first: int
    end: int
    storage: str
    frames: list[StoredFrame]
    is_masked: bool = True


async def read_span(span: ByteSpan) -> bytes:
    raw = b"".join([await open_stored_frame(frame, span.storage) for frame in span.frames])
    start = span.frames[0].position.first_byte
    if not span.is_masked:
        raw, start = await asyncio.to_thread(_mask_lines_around, raw, start, span)
    return slice_bytes(raw, start, span.first, span.end)


def _mask_lines_around(raw: bytes, start: int, span: ByteSpan) -> tuple[bytes, int]:
    """The whole lines of the span, masked, and the offset of their first byte."""
    begin = raw.rfind(b"\n", 0, span.first - start) + 1
    end = raw.find(b"\n", span.end - start - 1)
    return mask_lines_in_place(raw[begin:] if end < 0 else raw[begin : end + 1]).content, start + begin
