"""Looking for a text or a pattern in the very lines of sessions: bounded in bytes and time, and honest about it."""

import asyncio
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from commonplace.access import Caller
from commonplace.clock import iso
from commonplace.rooms.archives import frames, reading, searching, store, studies
from commonplace.rooms.archives.blocks import Block, blocks
from commonplace.rooms.archives.model import Archive
from commonplace.rooms.archives.searching import Asked, Match, Matches
from commonplace.search import index, lines
from commonplace.search.find import by_words
from commonplace.search.wanted import Wanted
from commonplace.store.database import Database, Tx
from commonplace.transcripts.reader import Reader
from commonplace.transcripts.record import decoded, moment

_BYTES = 512 * 1024 * 1024
_LINES = 2_000_000
_SECONDS = 2.0
_SESSIONS = 2000
_LIKELY = 40
_EVER = 2**62
_DEPTH = 12
_SNIPPET = 320
_UNREAD = "tool"
"""Whose words a line has that no reader understands: mostly it is what a tool printed."""


class Scan:
    """One search through lines, from session to session, until it has enough or may read no more."""

    def __init__(self, database: Database, setting: str, wanted: Asked, mode: lines.Mode) -> None:
        self._database, self._setting, self._wanted = database, setting, wanted
        self._is_literal = mode == "literal"
        self._pattern = _pattern(wanted.query, mode)
        self._budget = lines.Budget(bytes_=_BYTES, lines=_LINES, seconds=_SECONDS)
        self._unreadable = False

    async def matches(self, archives: list[Archive], complete: bool) -> Matches:
        found: list[Match] = []
        for archive in archives:
            found += await self._in_session(archive)
            if len(found) > self._wanted.limit or self._budget.spent:
                break
        more = len(found) > self._wanted.limit or self._budget.spent or self._unreadable or not complete
        return Matches(matches=found[: self._wanted.limit], truncated=more)

    async def _in_session(self, archive: Archive) -> list[Match]:
        """Block by block, as far as it can be read: one damaged session must not hide all others."""
        found: list[Match] = []
        pieces = reading.pieces(self._database, self._setting, archive, 0, archive.bytes)
        try:
            async for block in blocks(pieces):
                found += await asyncio.to_thread(self._in_block, archive, block, found[-1:])
                if len(found) >= self._wanted.per_session or self._budget.spent:
                    break
        except frames.Damaged:
            self._unreadable = True
            self._budget.pay(0, 0)
        return found[: self._wanted.per_session]

    def _in_block(self, archive: Archive, block: Block, latest: list[Match]) -> list[Match]:
        if block.is_whole:
            return self._in_lines(archive, block.first, block.content)
        self._budget.pay(len(block.content), 0)
        if not block.begins and [each.line for each in latest] == [block.first]:
            return []
        return self._in_part(archive, block)

    def _in_part(self, archive: Archive, block: Block) -> list[Match]:
        """Half a line is no record, so it is shown as it stands."""
        span = self._pattern.find(block.content, self._budget, begins=block.begins, ends=block.ends)
        if span is None:
            return []
        return [
            Match(
                workspace_id=archive.workspace,
                session_id=archive.session,
                line=block.first,
                role=_UNREAD,
                snippet=lines.cut(block.content, *span, most=_SNIPPET),
            )
        ]

    def _in_lines(self, archive: Archive, first: int, whole: bytes) -> list[Match]:
        if self._is_literal and self._pattern.find(whole, self._budget) is None:
            self._budget.pay(len(whole), whole.count(b"\n"))
            return []
        found: list[Match] = []
        split = whole.split(b"\n")
        for match in lines.search(split, self._pattern, self._budget, 0, first):
            shown = self._shown(archive, match, split[match.line - first])
            if shown is not None:
                found.append(shown)
            if len(found) >= self._wanted.per_session:
                break
        return found

    def _shown(self, archive: Archive, match: lines.Match, line: bytes) -> Match | None:
        """What was said there, if that is where it stands; else what a tool was given or printed; else the raw line."""
        said = Reader(tool=archive.tool).read(match.line, [line])
        role, words = next(
            ((each.role, each.text) for each in said if self._at(each.text)),
            (_UNREAD if not said else said[0].role, ""),
        )
        record = decoded(line) or {}
        if not words:
            words = next((each for each in _texts(record, _DEPTH) if self._at(each)), "")
        at = next((each.at for each in said if each.at is not None), moment(record.get("timestamp")))
        if at is not None and not self._wanted.since <= at <= self._wanted.until:
            return None
        span = self._at(words) if words else None
        return Match(
            workspace_id=archive.workspace,
            session_id=archive.session,
            line=match.line,
            role=role,
            snippet=lines.cut(words.encode(), *span, most=_SNIPPET) if span else match.text,
            at="" if at is None else iso(at),
        )

    def _at(self, words: str) -> tuple[int, int] | None:
        """A record may be made of a million small texts, so each is paid for."""
        if not self._budget.pay(len(words), 0):
            return None
        return self._pattern.find(words.encode(errors="replace"), self._budget)


def _texts(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth:
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        for each in inner:
            yield from _texts(each, depth - 1)


def _pattern(query: str, mode: lines.Mode) -> lines.Pattern:
    """A text stands in a line of JSON as it is, or with its quotes, breaks and letters escaped."""
    if mode == "regex":
        return lines.Pattern(query, "regex")
    escaped = (
        json.dumps(given, ensure_ascii=ascii_)[1:-1]
        for given in (query, query.lower())
        for ascii_ in (False, True)
    )
    spellings = dict.fromkeys(each.lower() for each in (query, *escaped))
    if len(spellings) == 1:
        return lines.Pattern(query, "literal")
    return lines.Pattern("|".join(re.escape(each) for each in spellings), "regex")


async def scanned(calls: Any, arguments: Mapping[str, Any], caller: Caller) -> Matches | None:
    """Before the transaction, which must not wait for so many frames."""
    if arguments["mode"] == "smart":
        return None
    database: Database = calls.database
    wanted, archives = await database.read(lambda tx: _planned(tx, arguments, caller, calls.clock()))
    scan = Scan(database, calls.settings.archives, wanted, arguments["mode"])
    return await scan.matches(archives, complete=len(archives) < _SESSIONS)


async def _planned(
    tx: Tx, arguments: Mapping[str, Any], caller: Caller, now: int
) -> tuple[Asked, list[Archive]]:
    workspace = arguments["workspace_id"]
    wanted = Asked(
        arguments["query"],
        workspace,
        await searching.scope(tx, caller, workspace),
        arguments["since"] or 0,
        arguments["until"] or _EVER,
        arguments["limit"],
        arguments["per_session"],
    )
    archives = await store.everywhere(tx, wanted.projects, workspace, wanted.since, wanted.until, _SESSIONS)
    if arguments["mode"] == "literal":
        likely = await _likely(tx, wanted, now)
        archives.sort(key=lambda archive: (archive.workspace, archive.session) not in likely)
    return wanted, archives


async def _likely(tx: Tx, wanted: Asked, now: int) -> set[tuple[str, str]]:
    """The sessions that have the words in what was said: they are read first, before time is up."""
    types = (wanted.workspace,) if wanted.workspace else ()
    found: set[tuple[str, str]] = set()
    for project in wanted.projects:
        limits = Wanted(now, (index.TRANSCRIPT,), types)
        hits = await by_words(tx, wanted.query, project, limits, _LIKELY)
        found |= {studies.place(hit.id) for hit in hits}
    return found
