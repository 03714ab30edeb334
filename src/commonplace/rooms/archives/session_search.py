"""Search archived sessions: by meaning in the search index, or by scanning lines for a text or regular expression.

A query about an error first finds the same error, and prefers places where it was fixed.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from commonplace.access import Caller
from commonplace.call import Call
from commonplace.clock import iso
from commonplace.rooms.archives import store, study_store
from commonplace.rooms.archives.search import describe_error
from commonplace.rooms.workspaces import store as workspaces
from commonplace.search import index, text
from commonplace.search.find import Hit, Question, find_entries, find_entries_by_words, show_relevance
from commonplace.search.query import EntryFilter
from commonplace.search.relevance import is_relevant
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
from commonplace.transcripts.error_messages import find_errors, fingerprint_error

DEFAULT_MATCHES_PER_SESSION = 3
_NOTHING_RELEVANT = "Nothing relevant found."
_SEARCHED_KINDS = (index.TRANSCRIPT_KIND, index.PROMPT_KIND)
_LATEST_TIME = 2**62
_CANDIDATES_PER_MATCH = 5
_MAX_SCANNED_SESSIONS = 2000
_LIKELY_SESSIONS = 40
_MAX_ERRORS = 5
# Factors on the relevance of an error that was fixed: in general, and if the query asks for a fix of it.
_FIXED_WEIGHT = 1.25
_ASKED_FOR_FIX_WEIGHT = 2.0
_ASKED_FOR_COVERAGE = 0.25
# What was done and said is asked for in its own words more often than what was learned from it.
_MAX_VECTOR_WEIGHT = 0.65

# How a query names an error: by its type, or after a verb.
_NAMED_ERROR = re.compile(r"\b((?:\w{1,40}\.){0,8}\w{0,80}(?:Error|Exception)\b.*)")
_ASKS_FOR_FIX = re.compile(
    r"(?i)\b(?:fix|solve|resolve|overcome|overcame|get rid of|got rid of)(?:d|ed|ing)? (?:(?:the|this|that|an?) )?(.+)"
)
# The words around an error in a question: "how did we fix X", "X how was it solved".
_FIX_PHRASE = re.compile(
    r"(?i)\b(?:how|what) (?:did|do|was|were|is|has|have|can|could|should|to)\b(?: (?:we|i|you|it|that|this|they|been))?"
    r"(?: (?:get|got) (?:around|rid of|past)| (?:fix|solv|resolv|overc[ao]m|handl|don|do)\w*)(?: (?:it|that|this|about it))?"
)
_PUNCTUATION = " ?!,;"


async def build_query(
    call: Call,
    query: str,
    workspace_id: str | None,
    since: int | None,
    until: int | None,
    limit: int,
    per_session: int,
) -> SessionQuery:
    projects = await list_searched_projects(call.tx, call.caller, workspace_id)
    return SessionQuery(query, workspace_id, projects, since or 0, until or _LATEST_TIME, limit, per_session)


async def list_searched_projects(tx: Tx, caller: Caller, workspace_id: str | None) -> list[str]:
    """The project of the workspace, or every project with workspaces that the caller may read."""
    if workspace_id is None:
        return await workspaces.list_visible_projects(tx, caller)
    return [(await workspaces.load_workspace(tx, workspace_id, caller)).project]


async def search_by_meaning(call: Call, query: SessionQuery) -> SessionMatches:
    """Occurrences of the same error; unless one of them was fixed, also results of the search index."""
    errors = await _find_same_errors(call.tx, query)
    matches = [_match_from_error(row, 1.0) for row in errors]
    if not any(row["fixed_line"] for row in errors):
        matches += await _search_index(call, query)
    selected = _limit_per_session(matches, query.limit + 1, query.per_session)
    return SessionMatches(
        matches=selected[: query.limit],
        truncated=len(selected) > query.limit,
        message="" if selected else _NOTHING_RELEVANT,
    )


def _limit_per_session(matches: Sequence[SessionMatch], limit: int, per_session: int) -> list[SessionMatch]:
    """Remove duplicates, and matches of a session beyond `per_session`."""
    seen: set[tuple[str, str, int]] = set()
    counts: Counter[tuple[str, str]] = Counter()
    selected: list[SessionMatch] = []
    for match in matches:
        session = match.workspace_id, match.session_id
        if (*session, match.line) in seen or counts[session] >= per_session or len(selected) >= limit:
            continue
        seen.add((*session, match.line))
        counts[session] += 1
        selected.append(match)
    return selected


async def _find_same_errors(tx: Tx, query: SessionQuery) -> list[Row]:
    errors = [
        error
        for words in _extract_errors(query.query)
        for error in (fingerprint_error(words), *find_errors(words, failed=False))
    ]
    fingerprints = list(dict.fromkeys(error.fingerprint for error in errors))
    rows: list[Row] = []
    for project in query.projects:
        rows += await _list_occurrences(tx, query, project, fingerprints)
    return sorted(rows, key=lambda row: (not row["fixed_line"], -row["at"]))


def _extract_errors(query: str) -> list[str]:
    """The query itself, and the error inside a question without the question around it."""
    bare = _FIX_PHRASE.sub(" ", query).strip(_PUNCTUATION)
    matches = (pattern.search(text) for text in (query, bare) for pattern in (_NAMED_ERROR, _ASKS_FOR_FIX))
    found = [query, bare, *(match[1].strip(_PUNCTUATION) for match in matches if match)]
    return [text for text in dict.fromkeys(found) if text]


async def _list_occurrences(
    tx: Tx, query: SessionQuery, project: str, fingerprints: Sequence[str]
) -> Sequence[Row]:
    return await study_store.list_errors_by_fingerprint(
        tx, project, fingerprints, query.workspace, query.since, query.until, query.limit + 1
    )


async def _search_index(call: Call, query: SessionQuery) -> list[SessionMatch]:
    limits = EntryFilter(
        call.now,
        _SEARCHED_KINDS,
        (query.workspace,) if query.workspace else (),
        changed_since=query.since,
        changed_until=query.until if query.until < _LATEST_TIME else 0,
    )
    max_hits = max(100, query.limit * _CANDIDATES_PER_MATCH)
    question = call.prepared if isinstance(call.prepared, Question) else Question(query.query)
    hits = await find_entries(
        call.tx, call.search.vectors, question, query.projects, limits, max_hits, _MAX_VECTOR_WEIGHT
    )
    if not any(is_relevant(hit, question) for hit in hits):
        return []
    fixed = await _find_fixed_errors(call.tx, query, hits) if _is_about_error(query.query, hits) else []
    asked_for_fix = _ASKS_FOR_FIX.search(query.query) is not None
    selected = _select_hits(_order_hits(hits, fixed, asked_for_fix), query)
    tokens = set(text.tokenize(query.query))
    loaded: dict[tuple[str, str], SessionMatch] = {}
    for project in dict.fromkeys(hit.project for hit in selected):
        hits_of_project = {hit.id: hit for hit in selected if hit.project == project}
        matches = await _load_matches(call.tx, project, hits_of_project, tokens)
        loaded |= {(project, entry_id): match for entry_id, match in matches.items()}
    return [loaded[hit.project, hit.id] for hit in selected if (hit.project, hit.id) in loaded]


def _is_about_error(query: str, hits: Sequence[Hit]) -> bool:
    """The query names an error, asks for a fix, or its best hit is an error."""
    named = _NAMED_ERROR.search(query) or _ASKS_FOR_FIX.search(query)
    return bool(named) or any(study_store.fingerprint_from_entry_id(hit.id) for hit in hits[:1])


async def _find_fixed_errors(tx: Tx, query: SessionQuery, hits: Sequence[Hit]) -> list[Hit]:
    """Where the errors among the best hits were fixed, each as relevant as the best hit of the same error. The session
    with the fix may have fewer of the words, and may not be among the hits at all."""
    best: dict[str, Hit] = {}
    for hit in hits:
        if fingerprint := study_store.fingerprint_from_entry_id(hit.id):
            best.setdefault(fingerprint, hit)
    fingerprints = list(best)[:_MAX_ERRORS]
    fixed: list[Hit] = []
    for project in query.projects if fingerprints else ():
        fixed += [
            replace(best[row["fingerprint"]], row={"project": project, "id": row["id"]})
            for row in await _list_occurrences(tx, query, project, fingerprints)
            if row["fixed_line"]
        ]
    return fixed


def _order_hits(hits: Sequence[Hit], fixed: Sequence[Hit], asked_for_fix: bool) -> list[Hit]:
    """Put fixed errors before other hits of about the same relevance; more so the very error that a fix is asked for."""
    first = {(hit.project, hit.id): hit for hit in fixed}
    others = [hit for hit in hits if (hit.project, hit.id) not in first]
    weighed = [(hit.relevance, hit) for hit in others]
    for hit in fixed:
        is_asked_for = asked_for_fix and hit.coverage >= _ASKED_FOR_COVERAGE
        weighed.append((hit.relevance * (_ASKED_FOR_FIX_WEIGHT if is_asked_for else _FIXED_WEIGHT), hit))
    return [hit for _, hit in sorted(weighed, key=lambda pair: -pair[0])]


def _select_hits(hits: Sequence[Hit], query: SessionQuery) -> list[Hit]:
    """Select hits before loading them, at most `per_session` of one session."""
    counts: Counter[tuple[str, str]] = Counter()
    selected: list[Hit] = []
    for hit in hits:
        session = study_store.session_from_entry_id(hit.id)
        counts[session] += 1
        if counts[session] <= query.per_session and len(selected) <= query.limit:
            selected.append(hit)
    return selected


async def _load_matches(
    tx: Tx, project: str, hits: Mapping[str, Hit], tokens: set[str]
) -> dict[str, SessionMatch]:
    errors = await study_store.load_errors(tx, project, list(hits))
    pieces_by_id = await study_store.load_passages(tx, project, [id_ for id_ in hits if id_ not in errors])
    matches = {id_: _match_from_error(row, hits[id_].relevance) for id_, row in errors.items()}
    for id_, pieces in pieces_by_id.items():
        matches[id_] = _match_from_passage(id_, pieces, tokens, hits[id_].relevance)
    return matches


def _match_from_passage(
    entry_id: str, pieces: list[study.PassagePiece], tokens: set[str], relevance: float
) -> SessionMatch:
    workspace, session = study_store.session_from_entry_id(entry_id)
    piece = study.find_best_piece(pieces, tokens)
    return SessionMatch(
        workspace_id=workspace,
        session_id=session,
        line=piece.line,
        role=piece.role,
        snippet=study.find_best_snippet(piece.text, tokens, SNIPPET_CHARACTERS),
        at="" if piece.at is None else iso(piece.at),
        relevance=show_relevance(relevance),
    )


def _match_from_error(row: Row, relevance: float) -> SessionMatch:
    workspace, session = study_store.session_from_entry_id(row["id"])
    return SessionMatch(
        workspace_id=workspace,
        session_id=session,
        line=row["line"],
        role="error",
        snippet=describe_error(row),
        at=iso(row["at"]),
        relevance=show_relevance(relevance),
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
    workspace = arguments["workspace_id"]
    query = SessionQuery(
        arguments["query"],
        workspace,
        await list_searched_projects(tx, caller, workspace),
        arguments["since"] or 0,
        arguments["until"] or _LATEST_TIME,
        arguments["limit"],
        arguments["per_session"],
    )
    archives = await store.list_archives(
        tx, query.projects, workspace, query.since, query.until, _MAX_SCANNED_SESSIONS
    )
    if arguments["mode"] == "literal":
        likely = await _find_likely_sessions(tx, query, now)
        archives.sort(key=lambda archive: (archive.workspace, archive.session) not in likely)
    return query, archives


async def _find_likely_sessions(tx: Tx, query: SessionQuery, now: int) -> set[tuple[str, str]]:
    """Sessions whose indexed text has the words; they are scanned first, before time runs out."""
    types = (query.workspace,) if query.workspace else ()
    likely: set[tuple[str, str]] = set()
    for project in query.projects:
        limits = EntryFilter(now, (index.TRANSCRIPT_KIND,), types)
        hits = await find_entries_by_words(tx, query.query, project, limits, _LIKELY_SESSIONS)
        likely |= {study_store.session_from_entry_id(hit.id) for hit in hits}
    return likely
