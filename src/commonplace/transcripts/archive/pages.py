"""Views of a session's lines: raw pages, chat pages with a summary, ranges of bytes. Built from stored frames after the transaction that loaded them."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

import msgspec

from commonplace.clock import iso
from commonplace.journal.model import LoggedCommand, LoggedError
from commonplace.masking.transcript_lines import collapse_masks, mask_lines_in_place
from commonplace.operation import Reply
from commonplace.shortening import ELLIPSIS
from commonplace.transcripts import reader
from commonplace.transcripts.archive.frames import (
    ArchivedSession,
    StoredFrame,
    open_stored_frame,
    slice_bytes,
)
from commonplace.transcripts.archive.study import decode_progress
from commonplace.transcripts.reader import TranscriptReader, Utterance


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


_MAX_TOOLS = 12
_MAX_FILES = 15
_MAX_COMMANDS = 10
_MAX_ERRORS = 10
_MAX_COMMITS = 15


class SummaryError(Reply):
    """An error that occurred at `line`; `fixed_at` is the line where it no longer occurred, after the steps in
    `followed`."""

    line: int
    error: str
    command: str = ""
    times: int = 1
    fixed_at: int = 0
    followed: list[str] = []


class SummaryCommand(Reply):
    """`exit_code` is that of the last run, if the transcript has it."""

    command: str
    runs: int
    failures: int
    exit_code: int | None = None


class SessionSummary(Reply):
    """`read` lists files that were read but not edited; `omitted` counts what each list leaves out (200 at most)."""

    title: str
    tool: str
    started_at: str = ""
    ended_at: str = ""
    cwd: str = ""
    branch: str = ""
    model: str = ""
    is_sub_agent: bool = False
    user_messages: int = 0
    assistant_messages: int = 0
    tool_calls: dict[str, int] = {}
    tokens: dict[str, int] = {}
    compactions: int = 0
    skipped_lines: int = 0
    edited: list[str] = []
    read: list[str] = []
    commands: list[SummaryCommand] = []
    errors: list[SummaryError] = []
    commits: list[str] = []
    omitted: dict[str, int] = {}


def summarize_session(transcript: reader.TranscriptSummary) -> SessionSummary:
    edited = [file.path for file in transcript.files if file.edits]
    read = [file.path for file in transcript.files if not file.edits]
    return SessionSummary(
        title=transcript.title,
        tool=transcript.format,
        started_at=_format_time(transcript.started_at),
        ended_at=_format_time(transcript.ended_at),
        cwd=transcript.cwd,
        branch=transcript.branch,
        model=transcript.model,
        is_sub_agent=transcript.is_child,
        user_messages=transcript.user_messages,
        assistant_messages=transcript.assistant_messages,
        tool_calls=dict(list(transcript.tools.items())[:_MAX_TOOLS]),
        tokens={
            "input": transcript.input_tokens,
            "output": transcript.output_tokens,
            "cached": transcript.cached_tokens,
        },
        compactions=transcript.compactions,
        skipped_lines=transcript.skipped_lines,
        edited=edited[:_MAX_FILES],
        read=read[:_MAX_FILES],
        commands=[_summarize_command(command) for command in transcript.commands[:_MAX_COMMANDS]],
        errors=[_summarize_error(error) for error in transcript.errors[:_MAX_ERRORS]],
        commits=[f"{commit.commit} {commit.message}" for commit in transcript.commits[-_MAX_COMMITS:]],
        omitted=_count_omitted(
            tool_calls=len(transcript.tools) - _MAX_TOOLS,
            edited=len(edited) - _MAX_FILES,
            read=len(read) - _MAX_FILES,
            commands=len(transcript.commands) - _MAX_COMMANDS,
            errors=len(transcript.errors) - _MAX_ERRORS,
            commits=len(transcript.commits) - _MAX_COMMITS,
        ),
    )


def _count_omitted(**beyond: int) -> dict[str, int]:
    return {name: count for name, count in beyond.items() if count > 0}


def _summarize_command(command: LoggedCommand) -> SummaryCommand:
    return SummaryCommand(
        command=command.command, runs=command.runs, failures=command.failures, exit_code=command.exit_code
    )


def _summarize_error(error: LoggedError) -> SummaryError:
    return SummaryError(
        line=error.line,
        error=error.text,
        command=error.command,
        times=error.times,
        fixed_at=error.fixed_line,
        followed=error.followed_by,
    )


def _format_time(at: int | None) -> str:
    return "" if at is None else iso(at)


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
