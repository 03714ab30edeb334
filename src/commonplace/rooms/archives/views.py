"""How a page of a session is shown: every view is made of the same frames, outside of the transaction."""

import asyncio
from dataclasses import dataclass

from commonplace.rooms.archives import model, reading
from commonplace.rooms.archives.model import Archive
from commonplace.rooms.archives.store import Kept

_BROKEN = "replace"


@dataclass(frozen=True, slots=True)
class Page:
    """What of a session was asked for, and the frames in which it begins."""

    archive: Archive
    kept: list[Kept]
    setting: str
    offset: int
    limit: int
    max_bytes: int
    view: model.View
    studied: bytes = b""


@dataclass(frozen=True, slots=True)
class Line:
    number: int
    first_byte: int
    content: bytes
    cut: bool = False


async def lines_of(page: Page) -> list[Line]:
    """The lines of a page, as many as fit; the first is cut if it does not fit alone. Mostly one frame has them all."""
    raw = b""
    for kept in page.kept:
        raw += await reading.opened(kept, page.setting)
        found, needs_more = await asyncio.to_thread(_split, page, raw)
        if not needs_more:
            break
    return found if page.kept else []


def _split(page: Page, raw: bytes) -> tuple[list[Line], bool]:
    """The lines in these bytes, and whether the next frame would show more of them."""
    first = page.kept[0].place
    whole = page.archive.bytes - first.first_byte
    at = after_lines(raw, page.offset - first.lines_before) if page.offset else 0
    found: list[Line] = []
    left = page.max_bytes
    while len(found) < page.limit and at < whole:
        end = raw.find(b"\n", at, at + left + 1)
        number, first_byte = page.offset + len(found), first.first_byte + at
        if end < 0 and (at + left < whole or len(raw) < whole):
            cut = [] if found else [Line(number, first_byte, raw[at : at + left], cut=True)]
            return found + cut, len(raw) < min(whole, at + left + 1)
        end = whole if end < 0 else end
        found.append(Line(number, first_byte, raw[at:end]))
        left -= end - at + 1
        at = end + 1
    return found, False


def after_lines(raw: bytes, count: int) -> int:
    at = 0
    for _ in range(count):
        at = raw.index(b"\n", at) + 1
    return at


async def raw_page(page: Page) -> model.RawPage:
    """The lines as they came in; what is no text is marked, and its exact bytes can be fetched."""
    found = await lines_of(page)
    total = page.archive.total_lines
    return model.RawPage(
        lines=[line.content.decode("utf-8", _BROKEN) for line in found],
        offset=page.offset,
        total_lines=total,
        has_more=page.offset + len(found) < total,
        inexact=[
            model.Inexact(line=line.number, first_byte=line.first_byte, cut=line.cut)
            for line in found
            if line.cut or not _is_text(line.content)
        ],
    )


def _is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True
