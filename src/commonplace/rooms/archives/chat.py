"""A session as people would read it: what was said, and which tools were called, without the bulk."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from commonplace.clock import iso
from commonplace.operation import Reply
from commonplace.rooms.archives import learning, reading
from commonplace.rooms.archives.summary import Summary, summed_up
from commonplace.rooms.archives.views import Page, after_lines
from commonplace.transcripts.reader import Reader, Utterance

# Much of a transcript is output of tools, which a chat leaves out, so a page of chat reads more than it shows.
FRAMES = 8
_CUT = "…"
_LEAST = 200


class Message(Reply):
    """What was taken back later, by an edited prompt or by going back, is `abandoned`. Where `cut`, the line has more
    than is shown."""

    line: int
    role: str
    text: str
    at: str = ""
    tool: str = ""
    abandoned: bool = False
    cut: bool = False


class ChatPage(Reply):
    messages: list[Message]
    offset: int
    next_offset: int
    total_lines: int
    has_more: bool
    summary: Summary | None = None


@dataclass
class Filling:
    """A page that is filled line by line, until it has its messages or its size."""

    offset: int
    limit: int
    left: int
    messages: list[Message] = field(default_factory=list)

    @property
    def is_full(self) -> bool:
        return len(self.messages) >= self.limit or self.left <= 0

    def add(self, utterances: list[Utterance]) -> bool:
        """Whether the messages of a line fit; the first of a page are cut until they do."""
        made = [
            (message, _size(message))
            for each in utterances
            if (message := _message(each)).line >= self.offset
        ]
        if sum(size for _, size in made) > self.left and self.messages:
            self.left = 0
            return False
        for message, size in made:
            self._take(message, size)
        return True

    def _take(self, message: Message, size: int) -> None:
        if size > self.left:
            if self.left < _LEAST:
                self.messages[-1].cut = True
                return
            message.cut = True
            message.text = message.text.encode()[: self.left // 2].decode(errors="ignore") + _CUT
            size = _size(message)
        self.messages.append(message)
        self.left -= size


def first_line(studied: bytes, offset: int) -> int:
    """Where reading begins: at the page, or at the start where one document stands on many lines."""
    return offset if _speaker(studied, "").is_paged else 0


async def chat_page(page: Page) -> ChatPage:
    """From a line on; `next_offset` is where the next page begins."""
    known = learning.progress(page.studied)
    about = summed_up(Reader(known.reader).summary()) if known.reader and not page.offset else None
    left = page.max_bytes - (len(msgspec.json.encode(about)) if about else 0)
    filling = Filling(page.offset, page.limit, max(left, _LEAST))
    following = await _fill(page, _speaker(page.studied, page.archive.tool), filling)
    return ChatPage(
        messages=filling.messages,
        offset=page.offset,
        next_offset=following,
        total_lines=page.archive.total_lines,
        has_more=following < page.archive.total_lines,
        summary=about,
    )


def _speaker(studied: bytes, tool: str) -> Reader:
    known = learning.progress(studied).reader
    return Reader.over(known) if known else Reader(tool=tool)


async def _fill(page: Page, speaker: Reader, filling: Filling) -> int:
    """Frames are opened one at a time, as long as the page has room; the line after the last one that was read."""
    number = page.offset if speaker.is_paged else 0
    rest = b""
    for place, kept in enumerate(page.kept):
        raw = await reading.opened(kept, page.setting)
        if not place:
            raw = raw[after_lines(raw, number - kept.place.lines_before) :] if number else raw
        is_last = kept.place.end >= page.archive.bytes
        number, rest = await asyncio.to_thread(_read, rest + raw, is_last, number, speaker, filling)
        if filling.is_full:
            return number
    # A line that is larger than all of this is passed over, or no page would ever get beyond it.
    return max(number, page.offset + 1) if page.kept else page.archive.total_lines


def _read(raw: bytes, is_last: bool, number: int, speaker: Reader, filling: Filling) -> tuple[int, bytes]:
    """Read whole lines while there is room; what is left is the beginning of the next one."""
    whole, newline, rest = raw.rpartition(b"\n")
    for line in _lines(whole, bool(newline), rest if is_last else b""):
        if filling.is_full or not filling.add(speaker.read(number, [line])):
            break
        number += 1
    return number, b"" if is_last else rest


def _lines(whole: bytes, some: bool, unfinished: bytes) -> Iterator[bytes]:
    start = 0
    while some:
        end = whole.find(b"\n", start)
        yield whole[start:] if end < 0 else whole[start:end]
        if end < 0:
            break
        start = end + 1
    if unfinished:
        yield unfinished


def _message(each: Utterance) -> Message:
    at = "" if each.at is None else iso(each.at)
    return Message(
        line=each.line, role=each.role, text=each.text, at=at, tool=each.tool, abandoned=each.abandoned
    )


def _size(message: Message) -> int:
    return len(msgspec.json.encode(message)) + 1
