"""Scan the lines of sessions, without their secrets, for a text or a regular expression, bounded in bytes, lines and time.

The room decides which sessions are scanned and in which order (`rooms/archives/search.py`)."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, replace

import msgspec

from commonplace.clock import iso
from commonplace.journal.json_record import decode_record, list_texts, parse_time
from commonplace.masking import MASKING_VERSION
from commonplace.masking.transcript_lines import mask_lines_for_reading, mask_lines_in_place
from commonplace.operation import Reply
from commonplace.search import lines
from commonplace.search.lines import OVERLAP_BYTES
from commonplace.transcripts.archive import frames
from commonplace.transcripts.archive.frames import ArchivedSession, SessionBytes
from commonplace.transcripts.boot_echo import ECHO_TEXT, list_said_texts
from commonplace.transcripts.reader import TranscriptReader

SNIPPET_CHARACTERS = 320


class SessionMatch(Reply):
    workspace_id: str
    session_id: str
    line: int
    role: str
    snippet: str
    at: str = ""
    relevance: float | None = None


class SessionMatches(Reply):
    matches: list[SessionMatch]
    truncated: bool
    message: str = ""


class SessionQuery(msgspec.Struct, frozen=True):
    query: str
    workspace: str | None
    projects: list[str]
    since: int
    until: int
    limit: int
    per_session: int


MAX_BLOCK_BYTES = 1024 * 1024
"""A longer line comes in parts; each part starts with the last bytes of the part before."""


@dataclass(frozen=True, slots=True)
class LineBlock:
    """Whole lines from line number `first_line` on, without the last newline; or a part of one long line."""

    first_line: int
    content: bytes
    begins: bool = True
    ends: bool = True

    @property
    def has_whole_lines(self) -> bool:
        return self.begins and self.ends


async def split_into_blocks(pieces: AsyncIterator[bytes]) -> AsyncIterator[LineBlock]:
    splitter = _BlockSplitter()
    async for piece in pieces:
        for block in splitter.add_piece(piece):
            yield block
    if splitter.pending:
        yield splitter.flush()


class _BlockSplitter:
    def __init__(self) -> None:
        self.pending = b""
        self._line, self._begins = 0, True

    def add_piece(self, piece: bytes) -> Iterator[LineBlock]:
        lines, newline, self.pending = (self.pending + piece).rpartition(b"\n")
        if newline:
            yield from self._whole_lines(lines)
        if len(self.pending) > MAX_BLOCK_BYTES:
            yield LineBlock(self._line, self.pending, self._begins, ends=False)
            self.pending, self._begins = self.pending[-OVERLAP_BYTES:], False

    def flush(self) -> LineBlock:
        return LineBlock(self._line, self.pending, self._begins)

    def _whole_lines(self, lines: bytes) -> Iterator[LineBlock]:
        if not self._begins:
            end, newline, lines = lines.partition(b"\n")
            yield LineBlock(self._line, end, begins=False)
            self._line, self._begins = self._line + 1, True
            if not newline:
                return
        yield LineBlock(self._line, lines)
        self._line += lines.count(b"\n") + 1


_MAX_SCANNED_BYTES = 512 * 1024 * 1024
_MAX_SCANNED_LINES = 2_000_000
_MAX_SCAN_SECONDS = 2.0
_UNPARSED_ROLE = "tool"
"""The role of a line that no reader understands: usually it is output of a tool."""


class LineScan:
    """One scan over lines, session by session, until it has enough matches or its budget is spent."""

    def __init__(self, query: SessionQuery, mode: lines.PatternMode) -> None:
        self._query = query
        self._is_literal = mode == "literal"
        self._pattern = _compile_pattern(query.query, mode)
        self._budget = lines.ScanBudget(
            bytes_=_MAX_SCANNED_BYTES, lines=_MAX_SCANNED_LINES, seconds=_MAX_SCAN_SECONDS
        )
        self._met_damage = False

    async def scan_sessions(self, sessions: Sequence[SessionBytes], *, complete: bool) -> SessionMatches:
        """`complete`: these are all the sessions there are to scan."""
        matches: list[SessionMatch] = []
        for session in sessions:
            matches += await self._scan_session(session)
            if len(matches) > self._query.limit or self._budget.spent:
                break
        truncated = len(matches) > self._query.limit or self._budget.spent or self._met_damage or not complete
        return SessionMatches(matches=matches[: self._query.limit], truncated=truncated)

    async def _scan_session(self, session: SessionBytes) -> list[SessionMatch]:
        """Block by block, as far as it can be read: one damaged session must not hide all others."""
        matches: list[SessionMatch] = []
        try:
            async for block in split_into_blocks(session.read_all()):
                matches += await asyncio.to_thread(self._scan_block, session.archive, block, matches[-1:])
                if len(matches) >= self._query.per_session or self._budget.spent:
                    break
        except frames.DamagedArchive:
            self._met_damage = True
            self._budget.spend(0, 0)
        return matches[: self._query.per_session]

    def _scan_block(
        self, archive: ArchivedSession, block: LineBlock, last_match: list[SessionMatch]
    ) -> list[SessionMatch]:
        if (
            archive.masking_version != MASKING_VERSION
            or block.first_line + block.content.count(b"\n") >= archive.lines
        ):
            block = replace(block, content=mask_lines_in_place(block.content).content)
        if block.has_whole_lines:
            return self._scan_lines(archive, block.first_line, block.content)
        self._budget.spend(len(block.content), 0)
        if not block.begins and [match.line for match in last_match] == [block.first_line]:
            return []
        return self._scan_part(archive, block)

    def _scan_part(self, archive: ArchivedSession, block: LineBlock) -> list[SessionMatch]:
        """A part of a line is not a JSON record, so the match shows the raw text."""
        span = self._pattern.find_match(block.content, self._budget, begins=block.begins, ends=block.ends)
        if span is None:
            return []
        return [
            SessionMatch(
                workspace_id=archive.workspace,
                session_id=archive.session,
                line=block.first_line,
                role=_UNPARSED_ROLE,
                snippet=lines.cut_line(block.content, *span, max_bytes=SNIPPET_CHARACTERS),
            )
        ]

    def _scan_lines(self, archive: ArchivedSession, first_line: int, content: bytes) -> list[SessionMatch]:
        if self._is_literal and self._pattern.find_match(content, self._budget) is None:
            self._budget.spend(len(content), content.count(b"\n"))
            return []
        matches: list[SessionMatch] = []
        split = content.split(b"\n")
        for line_match in lines.search_lines(split, self._pattern, self._budget, 0, first_line):
            match = self._describe_match(archive, line_match, split[line_match.line - first_line])
            if match is not None:
                matches.append(match)
            if len(matches) >= self._query.per_session:
                break
        return matches

    def _describe_match(
        self, archive: ArchivedSession, line_match: lines.LineMatch, line: bytes
    ) -> SessionMatch | None:
        """Show the message if the match is in one; else the argument or output of a tool; else the raw line.

        None if the match is only in an echo of our own boot pack.
        """
        [line] = mask_lines_for_reading(line)
        heard = TranscriptReader(tool=archive.tool).read(line_match.line, [line])
        utterances = [utterance for utterance in heard if utterance.text != ECHO_TEXT]
        role, words = next(
            ((utterance.role, utterance.text) for utterance in utterances if self._find_span(utterance.text)),
            (_UNPARSED_ROLE if not utterances else utterances[0].role, ""),
        )
        record = decode_record(line) or {}
        if not words:
            words = next((text for text in list_said_texts(record) if self._find_span(text)), "")
        if not words and any(self._find_span(text) for text in list_texts(record)):
            return None
        at = next(
            (utterance.at for utterance in utterances if utterance.at is not None),
            parse_time(record.get("timestamp")),
        )
        if at is not None and not self._query.since <= at <= self._query.until:
            return None
        span = self._find_span(words) if words else None
        return SessionMatch(
            workspace_id=archive.workspace,
            session_id=archive.session,
            line=line_match.line,
            role=role,
            snippet=lines.cut_line(words.encode(), *span, max_bytes=SNIPPET_CHARACTERS)
            if span
            else line_match.text,
            at="" if at is None else iso(at),
        )

    def _find_span(self, words: str) -> tuple[int, int] | None:
        """Every text is charged to the budget: a record may consist of a million small texts."""
        if not self._budget.spend(len(words), 0):
            return None
        return self._pattern.find_match(words.encode(errors="replace"), self._budget)


def _compile_pattern(query: str, mode: lines.PatternMode) -> lines.Pattern:
    """A literal text may occur in JSON as it is, or with quotes, newlines and non-ASCII letters escaped."""
    if mode == "regex":
        return lines.Pattern(query, "regex")
    escaped = (
        json.dumps(text, ensure_ascii=ascii_)[1:-1]
        for text in (query, query.lower())
        for ascii_ in (False, True)
    )
    spellings = dict.fromkeys(text.lower() for text in (query, *escaped))
    if len(spellings) == 1:
        return lines.Pattern(query, "literal")
    return lines.Pattern("|".join(re.escape(spelling) for spelling in spellings), "regex")
