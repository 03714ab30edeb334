"""The chat view of a session: messages and tool calls, without the output of tools. The raw view is in `raw_page.py`."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from commonplace.clock import iso
from commonplace.masking.transcript_lines import collapse_masks, mask_lines_in_place
from commonplace.operation import Reply
from commonplace.session_archive.raw_page import PageRequest, find_line_start
from commonplace.session_archive.session_bytes import open_stored_frame
from commonplace.session_archive.session_summary import SessionSummary, summarize_session
from commonplace.session_archive.study import decode_progress
from commonplace.shortening import ELLIPSIS
from commonplace.transcripts.reader import TranscriptReader, Utterance

# Most of a transcript is output of tools, which the chat leaves out, so a page reads more than it shows.
FRAMES_PER_PAGE = 8
_MIN_MESSAGE_BYTES = 200


class ChatMessage(Reply):
    """`abandoned`: an edited prompt or a rewind replaced it later. `cut`: the line has more than is shown."""

    line: int
    role: str
    text: str
    at: str = ""
    tool: str = ""
    abandoned: bool = False
    cut: bool = False


class ChatPage(Reply):
    messages: list[ChatMessage]
    offset: int
    next_offset: int
    total_lines: int
    has_more: bool
    summary: SessionSummary | None = None


@dataclass
class _PageBuilder:
    """A page that is filled line by line until it has its messages or its size."""

    offset: int
    limit: int
    bytes_left: int
    messages: list[ChatMessage] = field(default_factory=list)

    @property
    def is_full(self) -> bool:
        return len(self.messages) >= self.limit or self.bytes_left <= 0

    def add_line(self, utterances: list[Utterance]) -> bool:
        """Add the messages of one line; return False if they do not fit. The first messages of a page are cut to fit."""
        sized = [
            (message, _message_bytes(message))
            for utterance in utterances
            if (message := _message_from_utterance(utterance)).line >= self.offset
        ]
        if sum(size for _, size in sized) > self.bytes_left and self.messages:
            self.bytes_left = 0
            return False
        for message, size in sized:
            self._add_message(message, size)
        return True

    def _add_message(self, message: ChatMessage, size: int) -> None:
        if size > self.bytes_left:
            if self.bytes_left < _MIN_MESSAGE_BYTES:
                self.messages[-1].cut = True
                return
            message.cut = True
            message.text = message.text.encode()[: self.bytes_left // 2].decode(errors="ignore") + ELLIPSIS
            size = _message_bytes(message)
        self.messages.append(message)
        self.bytes_left -= size


def find_first_line(study_state: bytes, offset: int) -> int:
    """The line where reading a page begins: its offset, or 0 where the whole transcript is one document."""
    return offset if _open_reader(study_state, "").is_paged else 0


async def build_chat_page(page: PageRequest) -> ChatPage:
    """The messages from a line on; `next_offset` is where the next page begins."""
    progress = decode_progress(page.study_state)
    summary = None
    if progress.reader and not page.offset:
        summary = summarize_session(TranscriptReader(progress.reader).build_summary())
    bytes_left = page.max_bytes - (len(msgspec.json.encode(summary)) if summary else 0)
    builder = _PageBuilder(page.offset, page.limit, max(bytes_left, _MIN_MESSAGE_BYTES))
    next_offset = await _fill_page(page, _open_reader(page.study_state, page.archive.tool), builder)
    return ChatPage(
        messages=builder.messages,
        offset=page.offset,
        next_offset=next_offset,
        total_lines=page.archive.total_lines,
        has_more=next_offset < page.archive.total_lines,
        summary=summary,
    )


def _open_reader(study_state: bytes, tool: str) -> TranscriptReader:
    state = decode_progress(study_state).reader
    return TranscriptReader.for_pages(state) if state else TranscriptReader(tool=tool)


async def _fill_page(page: PageRequest, reader: TranscriptReader, builder: _PageBuilder) -> int:
    """Open one frame at a time while the page has room; return the line after the last one that was read."""
    number = page.offset if reader.is_paged else 0
    pending = b""
    for index, frame in enumerate(page.frames):
        raw = await open_stored_frame(frame, page.storage)
        if not index:
            raw = raw[find_line_start(raw, number - frame.position.lines_before) :] if number else raw
        is_last = frame.position.end >= page.archive.bytes
        number, pending = await asyncio.to_thread(
            _read_whole_lines, pending + raw, is_last, number, reader, builder
        )
        if builder.is_full:
            return number
    # A line that is larger than all these frames is skipped; otherwise no page would get beyond it.
    return max(number, page.offset + 1) if page.frames else page.archive.total_lines


def _read_whole_lines(
    raw: bytes, is_last: bool, number: int, reader: TranscriptReader, builder: _PageBuilder
) -> tuple[int, bytes]:
    """Read whole lines while there is room; return the next line number and the bytes of an unfinished line."""
    complete, newline, rest = raw.rpartition(b"\n")
    complete = mask_lines_in_place(complete).content
    if is_last:
        rest = mask_lines_in_place(rest).content
    for line in _iterate_lines(complete, bool(newline), rest if is_last else b""):
        if builder.is_full or not builder.add_line(reader.read(number, [collapse_masks(line)])):
            break
        number += 1
    return number, b"" if is_last else rest


def _iterate_lines(complete: bytes, has_lines: bool, unfinished: bytes) -> Iterator[bytes]:
    start = 0
    while has_lines:
        end = complete.find(b"\n", start)
        yield complete[start:] if end < 0 else complete[start:end]
        if end < 0:
            break
        start = end + 1
    if unfinished:
        yield unfinished


def _message_from_utterance(utterance: Utterance) -> ChatMessage:
    return ChatMessage(
        line=utterance.line,
        role=utterance.role,
        text=utterance.text,
        at="" if utterance.at is None else iso(utterance.at),
        tool=utterance.tool,
        abandoned=utterance.abandoned,
    )


def _message_bytes(message: ChatMessage) -> int:
    return len(msgspec.json.encode(message)) + 1
