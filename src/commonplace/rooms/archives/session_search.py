"""Search archived sessions: by meaning in the search index, or by scanning lines for a text or regular expression.

A query that names an error first finds the same error, and prefers places where it was fixed.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from commonplace.access import Caller
from commonplace.call import Call
from commonplace.clock import iso
from commonplace.journal.error_messages import find_errors, fingerprint_error
from commonplace.rooms.archives import store
from commonplace.rooms.archives.contributes import describe_error
from commonplace.rooms.workspaces import store as workspaces
from commonplace.search import index, text
from commonplace.search.find import find_entries, find_entries_by_words
from commonplace.search.query import EntryFilter
from commonplace.search.score import Hit, Question, is_sure
from commonplace.store.database import Database, Row, Tx
from commonplace.transcripts.archive import study
from commonplace.transcripts.archive.frames import ArchivedSession
from commonplace.transcripts.archive.line_scan import (
    SNIPPET_CHARACTERS,
    LineScan,
    SessionMatch,
    SessionMatches,
    SessionQuery,
)

DEFAULT_MATCHES_PER_SESSION = 3
_NOTHING_RELEVANT = "Nothing relevant found."
_SEARCHED_KINDS = (index.TRANSCRIPT_KIND, index.PROMPT_KIND)
_CANDIDATES_PER_MATCH = 5
_MAX_SCANNED_SESSIONS = 2000
_LIKELY_SESSIONS = 40
_MAX_ERRORS = 5
_FIXED_WEIGHT = 2.0
"""A factor on the relevance of an error that was fixed."""
# What was done and said is asked for in its own words more often than what was learned from it.
_MAX_VECTOR_WEIGHT = 0.65
_NAMED_ERROR = re.compile(r"\b((?:\w{1,40}\.){0,8}\w{0,80}(?:Error|Exception)\b.*)")

Item = TypeVar("Item")


async def plan_query(
    tx: Tx,
    caller: Caller,
    query: str,
    workspace_id: str | None,
    since: int | None,
    until: int | None,
    limit: int,
    per_session: int,
) -> SessionQuery:
    """What to search for, in the project of the workspace or in every one with workspaces that the caller may read."""
    projects = (
        await workspaces.list_visible_projects(tx, caller)
        if workspace_id is None
        else [(await workspaces.load_workspace(tx, workspace_id, caller)).project]
    )
    latest = until or store.LATEST_TIME
    return SessionQuery(query, workspace_id, projects, since or 0, latest, limit, per_session)


async def search_by_meaning(call: Call, query: SessionQuery) -> SessionMatches:
    """Occurrences of the same error; unless one of them was fixed, also results of the search index."""
    errors = await _find_same_errors(call.tx, query)
    matches = [_match_from_error(row, 1.0) for row in errors]
    if not any(row["fixed_line"] for row in errors):
        matches += await _search_index(call, query)
    distinct: dict[tuple[str, str, int], SessionMatch] = {}
    for match in matches:
        distinct.setdefault((match.workspace_id, match.session_id, match.line), match)
    selected = _limit_per_session(
        distinct.values(), query, lambda match: (match.workspace_id, match.session_id)
    )
    return SessionMatches(
        matches=selected[: query.limit],
        truncated=len(selected) > query.limit,
        message="" if selected else _NOTHING_RELEVANT,
    )


def _limit_per_session(
    items: Iterable[Item], query: SessionQuery, session_of: Callable[[Item], tuple[str, str]]
) -> list[Item]:
    """At most `per_session` of one session, and one more than the limit, which tells that there are more."""
    counts: Counter[tuple[str, str]] = Counter()
    selected: list[Item] = []
    for item in items:
        counts[session_of(item)] += 1
        if counts[session_of(item)] <= query.per_session and len(selected) <= query.limit:
            selected.append(item)
    return selected


async def _find_same_errors(tx: Tx, query: SessionQuery) -> list[Row]:
    named = _NAMED_ERROR.search(query.query)
    fingerprints = [
        error.fingerprint
        for words in dict.fromkeys([query.query, named[1] if named else query.query])
        for error in (fingerprint_error(words), *find_errors(words, failed=False))
    ]
    rows = await _list_occurrences(tx, query, list(dict.fromkeys(fingerprints)))
    return sorted((row for _, row in rows), key=lambda row: (not row["fixed_line"], -row["at"]))


async def _list_occurrences(
    tx: Tx, query: SessionQuery, fingerprints: Sequence[str]
) -> list[tuple[str, Row]]:
    """Where these errors occurred, each with its project."""
    return [
        (project, row)
        for project in (query.projects if fingerprints else ())
        for row in await store.list_errors_by_fingerprint(
            tx, project, fingerprints, query.workspace, query.since, query.until, query.limit + 1
        )
    ]


async def _search_index(call: Call, query: SessionQuery) -> list[SessionMatch]:
    limits = EntryFilter(
        call.now,
        _SEARCHED_KINDS,
        (query.workspace,) if query.workspace else (),
        changed_since=query.since,
        changed_until=query.until if query.until < store.LATEST_TIME else 0,
    )
    max_hits = max(100, query.limit * _CANDIDATES_PER_MATCH)
    question = call.prepared if isinstance(call.prepared, Question) else Question(query.query)
    hits = await find_entries(
        call.tx, call.search.vectors, question, query.projects, limits, max_hits, _MAX_VECTOR_WEIGHT
    )
    if not any(is_sure(hit, question) for hit in hits):
        return []
    ordered = await _put_fixed_errors_first(call.tx, query, hits)
    selected = _limit_per_session(ordered, query, lambda hit: store.session_from_entry_id(hit.id))
    tokens = set(text.tokenize(query.query))
    loaded: dict[tuple[str, str], SessionMatch] = {}
    for project in dict.fromkeys(hit.project for hit in selected):
        of_project = {hit.id: hit for hit in selected if hit.project == project}
        matches = await _load_matches(call.tx, project, of_project, tokens)
        loaded |= {(project, entry_id): match for entry_id, match in matches.items()}
    return [loaded[hit.project, hit.id] for hit in selected if (hit.project, hit.id) in loaded]


async def _put_fixed_errors_first(tx: Tx, query: SessionQuery, hits: Sequence[Hit]) -> Sequence[Hit]:
    """Where the best hit is an error, or the query names one: those who fixed it come before hits of about the same
    relevance. The session with the fix may have fewer of the words, and may not be among the hits at all."""
    best: dict[str, Hit] = {}
    for hit in hits:
        if fingerprint := store.fingerprint_from_entry_id(hit.id):
            best.setdefault(fingerprint, hit)
    if not _NAMED_ERROR.search(query.query) and hits[0] not in best.values():
        return hits
    fixed = {
        (project, row["id"]): replace(best[row["fingerprint"]], row={"project": project, "id": row["id"]})
        for project, row in await _list_occurrences(tx, query, list(best)[:_MAX_ERRORS])
        if row["fixed_line"]
    }
    weighed = [(hit.relevance, hit) for hit in hits if (hit.project, hit.id) not in fixed]
    weighed += [(hit.relevance * _FIXED_WEIGHT, hit) for hit in fixed.values()]
    return [hit for _, hit in sorted(weighed, key=lambda pair: -pair[0])]


async def _load_matches(
    tx: Tx, project: str, hits: Mapping[str, Hit], tokens: set[str]
) -> dict[str, SessionMatch]:
    errors = await store.load_errors(tx, project, list(hits))
    passages = await store.load_passages(tx, project, [id_ for id_ in hits if id_ not in errors])
    matches = {id_: _match_from_error(row, hits[id_].relevance) for id_, row in errors.items()}
    for id_, pieces in passages.items():
        matches[id_] = _match_from_passage(id_, pieces, tokens, hits[id_].relevance)
    return matches


def _match_from_passage(
    entry_id: str, pieces: list[study.PassagePiece], tokens: set[str], relevance: float
) -> SessionMatch:
    workspace, session = store.session_from_entry_id(entry_id)
    piece = study.find_best_piece(pieces, tokens)
    return SessionMatch(
        workspace_id=workspace,
        session_id=session,
        line=piece.line,
        role=piece.role,
        snippet=study.find_best_snippet(piece.text, tokens, SNIPPET_CHARACTERS),
        at="" if piece.at is None else iso(piece.at),
        relevance=relevance,
    )


def _match_from_error(row: Row, relevance: float) -> SessionMatch:
    workspace, session = store.session_from_entry_id(row["id"])
    return SessionMatch(
        workspace_id=workspace,
        session_id=session,
        line=row["line"],
        role="error",
        snippet=describe_error(row),
        at=iso(row["at"]),
        relevance=relevance,
    )


async def prepare_search(
    calls: Any, arguments: Mapping[str, Any], caller: Caller
) -> SessionMatches | Question:
    """Embed the question, or scan lines: the transaction must not wait for a model or for so many frames."""
    if arguments["mode"] == "smart":
        question: Question = await calls.search.build_question(arguments["query"])
        return question
    database: Database = calls.database
    query, archives = await database.read(lambda tx: _plan_scan(tx, arguments, caller, calls.clock()))
    sessions = [store.session_bytes(database, calls.settings.archives, archive) for archive in archives]
    scan = LineScan(query, arguments["mode"])
    return await scan.scan_sessions(sessions, complete=len(sessions) < _MAX_SCANNED_SESSIONS)


async def _plan_scan(
    tx: Tx, arguments: Mapping[str, Any], caller: Caller, now: int
) -> tuple[SessionQuery, list[ArchivedSession]]:
    """For a text, sessions whose indexed words have it are scanned first, before time runs out."""
    asked = ("query", "workspace_id", "since", "until", "limit", "per_session")
    query = await plan_query(tx, caller, *(arguments[name] for name in asked))
    archives = await store.list_archives(
        tx, query.projects, query.workspace, query.since, query.until, _MAX_SCANNED_SESSIONS
    )
    if arguments["mode"] == "literal":
        limits = EntryFilter(now, (index.TRANSCRIPT_KIND,), (query.workspace,) if query.workspace else ())
        likely = {
            store.session_from_entry_id(hit.id)
            for project in query.projects
            for hit in await find_entries_by_words(tx, query.query, project, limits, _LIKELY_SESSIONS)
        }
        archives.sort(key=lambda archive: (archive.workspace, archive.session) not in likely)
    return query, archives
