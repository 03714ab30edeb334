"""Searching knowledge: which files by the store, then the lines in them, away from the event loop."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from commonplace.call import Call
from commonplace.rooms.workspaces import files, model
from commonplace.rooms.workspaces.model import Match
from commonplace.search import lines, text
from commonplace.search.find import Hit, Question, find
from commonplace.search.wanted import Wanted
from commonplace.store.database import Row

_FILES = 2000
_BYTES = 16_000_000
_LINES = 1_000_000
_SECONDS = 2.0
_REPLY_BYTES = 64_000


@dataclass(frozen=True, slots=True)
class Scan:
    """Files to look through, and for what; `complete` says that these are all."""

    rows: Sequence[Row]
    complete: bool
    pattern: lines.Pattern
    context: int
    limit: int

    def matches(self) -> model.Matches:
        budget = _budget()
        shown, more = _fitting(_of_files(self, budget), self.limit)
        return model.Matches(matches=shown, truncated=more or budget.spent or not self.complete)


@dataclass(frozen=True, slots=True)
class Ranking:
    """Files that answer a question, the best first; in each the line is still to be found."""

    found: Sequence[tuple[Hit, Row]]
    question: str
    context: int
    complete: bool

    def matches(self) -> model.Matches:
        budget, asked = _budget(), frozenset(text.tokens(self.question))
        located = (_located(hit, row, asked, self.context, budget) for hit, row in self.found)
        shown, more = _fitting(located, len(self.found))
        return model.Matches(matches=shown, truncated=more or not self.complete)


async def scan(
    call: Call, projects: list[str], workspace: str | None, pattern: lines.Pattern, context: int, limit: int
) -> Scan:
    """The latest files, as many as one search may read."""
    listed = await files.sizes(call.tx, projects, workspace, _FILES)
    chosen = _within(listed, _BYTES)
    texts: dict[str, Row] = {}
    for project in dict.fromkeys(row["project"] for row in chosen):
        theirs = [row["id"] for row in chosen if row["project"] == project]
        texts |= {row["id"]: row for row in await files.texts(call.tx, project, theirs)}
    rows = [texts[row["id"]] for row in chosen if row["id"] in texts]
    return Scan(rows, len(chosen) == len(listed) < _FILES, pattern, context, limit)


async def ranking(
    call: Call, projects: list[str], workspace: str | None, query: str, context: int, limit: int
) -> Ranking:
    prepared = call.prepared
    question = prepared if isinstance(prepared, Question) else Question(query)
    wanted = Wanted(call.now, (files.KIND,), (workspace,) if workspace else ())
    hits = await find(call.tx, call.search.vectors, question, projects, wanted, limit + 1)
    texts: dict[tuple[str, str], Row] = {}
    for project in dict.fromkeys(hit.project for hit in hits[:limit]):
        theirs = [hit.id for hit in hits[:limit] if hit.project == project]
        texts |= {(project, row["id"]): row for row in await files.texts(call.tx, project, theirs)}
    found = [(hit, texts[hit.project, hit.id]) for hit in hits[:limit] if (hit.project, hit.id) in texts]
    return Ranking(found, query, context, len(hits) <= limit)


async def matches(looked: Scan | Ranking) -> model.Matches:
    return await asyncio.to_thread(looked.matches)


def _within(rows: Iterable[Row], most: int) -> list[Row]:
    chosen: list[Row] = []
    for row in rows:
        most -= row["size"]
        if most < 0:
            break
        chosen.append(row)
    return chosen


def _budget() -> lines.Budget:
    return lines.Budget(bytes_=_BYTES, lines=_LINES, seconds=_SECONDS)


def _of_files(scan: Scan, budget: lines.Budget) -> Iterator[Match]:
    for row in scan.rows:
        for found in lines.search(row["content"].splitlines(), scan.pattern, budget, scan.context):
            yield _match(row, found)
        if budget.spent:
            return


def _located(hit: Hit, row: Row, asked: frozenset[str], context: int, budget: lines.Budget) -> Match:
    """The line with most of the words that were asked for, else where the passage begins that means the same."""
    written = row["content"].splitlines() or [""]
    best, words = _beginning(row["content"], hit.part), 0
    for number, line in enumerate(written):
        if not budget.pay(len(line)):
            break
        shared = len(asked & set(text.tokens(line)))
        if shared > words:
            best, words = number, shared
    best = min(best, len(written) - 1)
    found = lines.Match(
        best + 1,
        lines.cut(written[best].encode()),
        [lines.cut(each.encode()) for each in written[max(0, best - context) : best]],
        [lines.cut(each.encode()) for each in written[best + 1 : best + 1 + context]],
    )
    return _match(row, found, round(hit.relevance, 3))


def _beginning(content: str, part: int) -> int:
    passages = text.passages(content)
    at = content.find(passages[min(part, len(passages) - 1)])
    return content.count("\n", 0, max(at, 0))


def _match(row: Row, found: lines.Match, relevance: float | None = None) -> Match:
    return Match(
        workspace_id=row["workspace"],
        path=row["path"],
        line=found.line,
        text=found.text,
        before=found.before,
        after=found.after,
        relevance=relevance,
    )


def _fitting(found: Iterable[Match], limit: int) -> tuple[list[Match], bool]:
    """As many as are wanted and fit into a reply, and whether there were more."""
    shown: list[Match] = []
    left = _REPLY_BYTES
    for match in found:
        left -= (
            sum(len(line.encode()) for line in (match.text, *match.before, *match.after, match.path)) + 100
        )
        if len(shown) == limit or (left < 0 and shown):
            return shown, True
        shown.append(match)
    return shown, False
