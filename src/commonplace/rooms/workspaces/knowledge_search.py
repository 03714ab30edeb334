"""Search knowledge files: the store selects files, then a thread finds the matching lines in them."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from commonplace.call import Call
from commonplace.rooms.workspaces import file_store, model
from commonplace.rooms.workspaces.model import KnowledgeMatch
from commonplace.rooms.workspaces.write_access import name_author_of_file
from commonplace.search import lines, text
from commonplace.search.find import find_entries
from commonplace.search.query import EntryFilter
from commonplace.search.score import Hit, Question
from commonplace.store.database import Row

_MAX_SCANNED_FILES = 2000
_MAX_SCANNED_BYTES = 16_000_000
_MAX_SCANNED_LINES = 1_000_000
_MAX_SCAN_SECONDS = 2.0
_MAX_REPLY_BYTES = 64_000


@dataclass(frozen=True, slots=True)
class FileScan:
    """Files to scan for a pattern; `complete`: these are all the files there are to scan."""

    rows: Sequence[Row]
    complete: bool
    pattern: lines.Pattern
    context: int
    limit: int

    def find_matches(self) -> model.KnowledgeMatches:
        budget = _scan_budget()
        matches, has_more = _select_fitting_matches(_scan_files(self, budget), self.limit)
        return model.KnowledgeMatches(
            matches=matches, truncated=has_more or budget.spent or not self.complete
        )


@dataclass(frozen=True, slots=True)
class FileRanking:
    """Files that answer a query, best first; the best line in each is still to be found."""

    hits: Sequence[tuple[Hit, Row]]
    query: str
    context: int
    complete: bool

    def find_matches(self) -> model.KnowledgeMatches:
        budget, query_tokens = _scan_budget(), frozenset(text.tokenize(self.query))
        best_lines = (_find_best_line(hit, row, query_tokens, self.context, budget) for hit, row in self.hits)
        matches, has_more = _select_fitting_matches(best_lines, len(self.hits))
        return model.KnowledgeMatches(matches=matches, truncated=has_more or not self.complete)


async def plan_scan(
    call: Call, projects: list[str], workspace: str | None, pattern: lines.Pattern, context: int, limit: int
) -> FileScan:
    """Load the most recently changed files, as many as one search may read."""
    listed = await file_store.list_file_sizes(call.tx, projects, workspace, _MAX_SCANNED_FILES)
    selected = _select_files(listed, _MAX_SCANNED_BYTES)
    texts: dict[str, Row] = {}
    for project in dict.fromkeys(row["project"] for row in selected):
        file_ids = [row["id"] for row in selected if row["project"] == project]
        texts |= {row["id"]: row for row in await file_store.list_file_texts(call.tx, project, file_ids)}
    rows = [texts[row["id"]] for row in selected if row["id"] in texts]
    return FileScan(rows, len(selected) == len(listed) < _MAX_SCANNED_FILES, pattern, context, limit)


async def rank_files(
    call: Call, projects: list[str], workspace: str | None, query: str, context: int, limit: int
) -> FileRanking:
    prepared = call.prepared
    question = prepared if isinstance(prepared, Question) else Question(query)
    limits = EntryFilter(call.now, (file_store.KNOWLEDGE_KIND,), (workspace,) if workspace else ())
    hits = await find_entries(call.tx, call.search.vectors, question, projects, limits, limit + 1)
    texts: dict[tuple[str, str], Row] = {}
    for project in dict.fromkeys(hit.project for hit in hits[:limit]):
        file_ids = [hit.id for hit in hits[:limit] if hit.project == project]
        texts |= {
            (project, row["id"]): row for row in await file_store.list_file_texts(call.tx, project, file_ids)
        }
    loaded = [(hit, texts[hit.project, hit.id]) for hit in hits[:limit] if (hit.project, hit.id) in texts]
    return FileRanking(loaded, query, context, len(hits) <= limit)


async def find_matches(search: FileScan | FileRanking) -> model.KnowledgeMatches:
    return await asyncio.to_thread(search.find_matches)


def _select_files(rows: Iterable[Row], max_bytes: int) -> list[Row]:
    selected: list[Row] = []
    for row in rows:
        max_bytes -= row["size"]
        if max_bytes < 0:
            break
        selected.append(row)
    return selected


def _scan_budget() -> lines.ScanBudget:
    return lines.ScanBudget(bytes_=_MAX_SCANNED_BYTES, lines=_MAX_SCANNED_LINES, seconds=_MAX_SCAN_SECONDS)


def _scan_files(scan: FileScan, budget: lines.ScanBudget) -> Iterator[KnowledgeMatch]:
    for row in scan.rows:
        for line_match in lines.search_lines(row["content"].splitlines(), scan.pattern, budget, scan.context):
            yield _build_match(row, line_match)
        if budget.spent:
            return


def _find_best_line(
    hit: Hit, row: Row, query_tokens: frozenset[str], context: int, budget: lines.ScanBudget
) -> KnowledgeMatch:
    """The line with the most query tokens; without any, the line where the matching passage begins."""
    all_lines = row["content"].splitlines() or [""]
    best, most_shared = _find_passage_line(row["content"], hit.part), 0
    for number, line in enumerate(all_lines):
        if not budget.spend(len(line)):
            break
        shared = len(query_tokens & set(text.tokenize(line)))
        if shared > most_shared:
            best, most_shared = number, shared
    best = min(best, len(all_lines) - 1)
    line_match = lines.LineMatch(
        best + 1,
        lines.cut_line(all_lines[best].encode()),
        [lines.cut_line(line.encode()) for line in all_lines[max(0, best - context) : best]],
        [lines.cut_line(line.encode()) for line in all_lines[best + 1 : best + 1 + context]],
    )
    return _build_match(row, line_match, hit.relevance)


def _find_passage_line(content: str, part: int) -> int:
    passages = text.split_passages(content)
    at = content.find(passages[min(part, len(passages) - 1)])
    return content.count("\n", 0, max(at, 0))


def _build_match(row: Row, line_match: lines.LineMatch, relevance: float | None = None) -> KnowledgeMatch:
    return KnowledgeMatch(
        workspace_id=row["workspace"],
        path=row["path"],
        line=line_match.line,
        text=line_match.text,
        before=line_match.before,
        after=line_match.after,
        relevance=relevance,
        author=name_author_of_file(row["author"]),
    )


def _select_fitting_matches(
    matches: Iterable[KnowledgeMatch], limit: int
) -> tuple[list[KnowledgeMatch], bool]:
    """As many matches as the limit and the size of a reply allow, and whether there are more."""
    selected: list[KnowledgeMatch] = []
    left = _MAX_REPLY_BYTES
    for match in matches:
        left -= (
            sum(len(line.encode()) for line in (match.text, *match.before, *match.after, match.path)) + 100
        )
        if len(selected) == limit or (left < 0 and selected):
            return selected, True
        selected.append(match)
    return selected, False
