"""A page of a session: what was requested, its lines, and the raw view of them.

Pages are built from stored frames after the transaction that loaded them. The chat view is in `chat_page.py`.
"""

import asyncio
from dataclasses import dataclass, replace
from typing import Literal

from commonplace.masking.transcript_lines import mask_lines_in_place
from commonplace.operation import Reply
from commonplace.session_archive.archive import ArchivedSession
from commonplace.session_archive.frames import StoredFrame
from commonplace.session_archive.session_bytes import open_stored_frame

PageView = Literal["chat", "raw"]


class InexactLine(Reply):
    """A line that text cannot show completely; its bytes start at `first_byte`."""

    line: int
    first_byte: int
    cut: bool = False


class RawPage(Reply):
    lines: list[str]
    offset: int
    total_lines: int
    has_more: bool
    inexact: list[InexactLine] = []


@dataclass(frozen=True, slots=True)
class PageRequest:
    """What was requested of a session, and the stored frames from the one in which the page begins."""

    archive: ArchivedSession
    frames: list[StoredFrame]
    storage: str
    offset: int
    limit: int
    max_bytes: int
    view: PageView
    keeps_secrets: bool = False
    study_state: bytes = b""


@dataclass(frozen=True, slots=True)
class _RawLine:
    number: int
    first_byte: int
    content: bytes
    cut: bool = False


async def build_raw_page(page: PageRequest) -> RawPage:
    """The lines as they were uploaded, but for secrets; lines that are not valid text are marked, so that a client can fetch their
    bytes."""
    lines = await _read_lines(page)
    total = page.archive.total_lines
    return RawPage(
        lines=[line.content.decode("utf-8", "replace") for line in lines],
        offset=page.offset,
        total_lines=total,
        has_more=page.offset + len(lines) < total,
        inexact=[
            InexactLine(line=line.number, first_byte=line.first_byte, cut=line.cut)
            for line in lines
            if line.cut or not _is_text(line.content)
        ],
    )


async def _read_lines(page: PageRequest) -> list[_RawLine]:
    """As many lines as fit; the first is cut if it does not fit alone. Usually one frame holds them all."""
    raw = b""
    lines: list[_RawLine] = []
    for frame in page.frames:
        raw += await open_stored_frame(frame, page.storage)
        lines, needs_more = await asyncio.to_thread(_split_lines, page, raw)
        if not needs_more:
            break
    return lines if page.keeps_secrets else await asyncio.to_thread(_mask_lines, page, raw, lines)


def _mask_lines(page: PageRequest, raw: bytes, lines: list[_RawLine]) -> list[_RawLine]:
    """A line that is cut is masked with as much of it as there is, because its cut may go through a secret."""
    if not lines:
        return lines
    if lines[-1].cut:
        *lines, last = lines
        at = last.first_byte - page.frames[0].position.first_byte
        whole = raw[at:].partition(b"\n")[0]
        cut = [replace(last, content=mask_lines_in_place(whole).content[: len(last.content)])]
        return _mask_lines(page, raw, lines) + cut
    masked = mask_lines_in_place(b"\n".join(line.content for line in lines)).content.split(b"\n")
    return [replace(line, content=content) for line, content in zip(lines, masked, strict=True)]


def _split_lines(page: PageRequest, raw: bytes) -> tuple[list[_RawLine], bool]:
    """The lines in these bytes, and whether the next frame would add to them."""
    first = page.frames[0].position
    available = page.archive.bytes - first.first_byte
    at = find_line_start(raw, page.offset - first.lines_before) if page.offset else 0
    lines: list[_RawLine] = []
    left = page.max_bytes
    while len(lines) < page.limit and at < available:
        end = raw.find(b"\n", at, at + left + 1)
        number, first_byte = page.offset + len(lines), first.first_byte + at
        if end < 0 and (at + left < available or len(raw) < available):
            cut = [] if lines else [_RawLine(number, first_byte, raw[at : at + left], cut=True)]
            return lines + cut, len(raw) < min(available, at + left + 1)
        end = available if end < 0 else end
        lines.append(_RawLine(number, first_byte, raw[at:end]))
        left -= end - at + 1
        at = end + 1
    return lines, False


def find_line_start(raw: bytes, line: int) -> int:
    """The index at which the line with this number begins."""
    at = 0
    for _ in range(line):
        at = raw.index(b"\n", at) + 1
    return at


def _is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True
