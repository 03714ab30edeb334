"""Finding what was said in sessions, and how an error was overcome, with the same engine as everything else."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from commonplace.access import Caller
from commonplace.call import Call
from commonplace.clock import iso
from commonplace.rooms.archives import store, study_store
from commonplace.rooms.workspaces import store as workspaces
from commonplace.search import index, text
from commonplace.search.find import Hit, Question, by_words, find
from commonplace.search.source import Source
from commonplace.search.wanted import Wanted
from commonplace.session_archive import passages
from commonplace.session_archive.archive import ArchivedSession
from commonplace.session_archive.line_scan import LineScan
from commonplace.session_archive.session_matches import (
    SNIPPET_CHARACTERS,
    SessionMatch,
    SessionMatches,
    SessionQuery,
)
from commonplace.store.database import Database, Row, Tx
from commonplace.transcripts.error_messages import find_errors, fingerprint_error

DEFAULT_MATCHES_PER_SESSION = 3
_LATEST_TIME = 2**62
_CANDIDATES_PER_MATCH = 5
_MAX_SCANNED_SESSIONS = 2000
_LIKELY_SESSIONS = 40
_MAX_ERRORS = 5
# How much more an error that was overcome is worth; and where a question asks how.
_OVERCOME_WEIGHT = 1.25
_ASKED_HOW_WEIGHT = 2.0

# How a question names an error: by its type, or after a verb. Around it stand marks that are not its own.
_NAMED_ERROR = re.compile(r"\b((?:\w{1,40}\.){0,8}\w{0,80}(?:Error|Exception)\b.*)")
_ASKS_FOR_FIX = re.compile(
    r"(?i)\b(?:fix|solve|resolve|overcome|overcame|get rid of|got rid of)(?:d|ed|ing)? (?:(?:the|this|that|an?) )?(.+)"
)
_PUNCTUATION = " ?!"


async def build_query(
    call: Call,
    query: str,
    workspace_id: str | None,
    since: int | None,
    until: int | None,
    limit: int,
    each: int,
) -> SessionQuery:
    projects = await list_searched_projects(call.tx, call.caller, workspace_id)
    return SessionQuery(query, workspace_id, projects, since or 0, until or _LATEST_TIME, limit, each)


async def list_searched_projects(tx: Tx, caller: Caller, workspace_id: str | None) -> list[str]:
    """The project of the workspace, else every project that has one and that the caller may read."""
    if workspace_id is None:
        return await workspaces.list_visible_projects(tx, caller)
    return [(await workspaces.load_workspace(tx, workspace_id, caller)).project]


async def search_by_meaning(call: Call, wanted: SessionQuery) -> SessionMatches:
    """Where the very same error was met; unless it was overcome there, whatever has the words too."""
    met = await _find_same_errors(call.tx, wanted)
    found = [_match_from_error(row, 1.0) for row in met]
    if not any(row["fixed_line"] for row in met):
        found += await _search_index(call, wanted)
    kept = limit_per_session(found, wanted.limit + 1, wanted.per_session)
    return SessionMatches(matches=kept[: wanted.limit], truncated=len(kept) > wanted.limit)


def limit_per_session(found: Sequence[SessionMatch], limit: int, per_session: int) -> list[SessionMatch]:
    """No place twice, and no session too often."""
    seen: set[tuple[str, str, int]] = set()
    often: Counter[tuple[str, str]] = Counter()
    kept: list[SessionMatch] = []
    for each in found:
        session = each.workspace_id, each.session_id
        if (*session, each.line) in seen or often[session] >= per_session or len(kept) >= limit:
            continue
        seen.add((*session, each.line))
        often[session] += 1
        kept.append(each)
    return kept


async def _find_same_errors(tx: Tx, wanted: SessionQuery) -> list[Row]:
    given = [
        fault
        for each in _extract_errors(wanted.query)
        for fault in (fingerprint_error(each), *find_errors(each, failed=False))
    ]
    fingerprints = list(dict.fromkeys(each.fingerprint for each in given))
    found: list[Row] = []
    for project in wanted.projects:
        found += await _list_occurrences(tx, wanted, project, fingerprints)
    return sorted(found, key=lambda row: (not row["fixed_line"], -row["at"]))


def _extract_errors(query: str) -> list[str]:
    """The query as it is; and the error that a question asks about, without the question."""
    inside = (pattern.search(query) for pattern in (_NAMED_ERROR, _ASKS_FOR_FIX))
    return [query, *(found[1].strip(_PUNCTUATION) for found in inside if found)]


async def _list_occurrences(
    tx: Tx, wanted: SessionQuery, project: str, fingerprints: Sequence[str]
) -> Sequence[Row]:
    return await study_store.list_errors_by_fingerprint(
        tx, project, fingerprints, wanted.workspace, wanted.since, wanted.until, wanted.limit + 1
    )


async def _search_index(call: Call, wanted: SessionQuery) -> list[SessionMatch]:
    limits = Wanted(
        call.now,
        (index.TRANSCRIPT,),
        (wanted.workspace,) if wanted.workspace else (),
        changed_since=wanted.since,
        changed_until=wanted.until if wanted.until < _LATEST_TIME else 0,
    )
    most = max(100, wanted.limit * _CANDIDATES_PER_MATCH)
    hits = await find(call.tx, call.search.vectors, Question(wanted.query), wanted.projects, limits, most)
    overcome = (
        await _find_overcome_errors(call.tx, wanted, hits) if _is_about_error(wanted.query, hits) else []
    )
    worth = _ASKED_HOW_WEIGHT if _ASKS_FOR_FIX.search(wanted.query) else _OVERCOME_WEIGHT
    chosen = _select_hits(_order_hits(hits, overcome, worth), wanted)
    tokens = set(text.tokens(wanted.query))
    loaded: dict[tuple[str, str], SessionMatch] = {}
    for project in dict.fromkeys(hit.project for hit in chosen):
        theirs = {hit.id: hit for hit in chosen if hit.project == project}
        loaded |= {
            (project, each): match
            for each, match in (await _load_matches(call.tx, project, theirs, tokens)).items()
        }
    return [loaded[hit.project, hit.id] for hit in chosen if (hit.project, hit.id) in loaded]


def _is_about_error(query: str, hits: Sequence[Hit]) -> bool:
    """It names one, asks how to fix one, or nothing has more of its words than one."""
    named = _NAMED_ERROR.search(query) or _ASKS_FOR_FIX.search(query)
    return bool(named) or any(study_store.fingerprint_from_entry_id(hit.id) for hit in hits[:1])


async def _find_overcome_errors(tx: Tx, wanted: SessionQuery, hits: Sequence[Hit]) -> list[Hit]:
    """Where the errors among the best hits were overcome, each as relevant as the best hit of the same error: that one
    session of hundreds has fewer of the words, and may not be among the hits at all."""
    best: dict[str, Hit] = {}
    for hit in hits:
        if fingerprint := study_store.fingerprint_from_entry_id(hit.id):
            best.setdefault(fingerprint, hit)
    known = list(best)[:_MAX_ERRORS]
    found: list[Hit] = []
    for project in wanted.projects if known else ():
        found += [
            replace(best[row["fingerprint"]], row={"project": project, "id": row["id"]})
            for row in await _list_occurrences(tx, wanted, project, known)
            if row["fixed_line"]
        ]
    return found


def _order_hits(hits: Sequence[Hit], overcome: Sequence[Hit], worth: float) -> list[Hit]:
    """What overcame an error comes before all that is about as relevant."""
    first = {(hit.project, hit.id): hit for hit in overcome}
    others = [hit for hit in hits if (hit.project, hit.id) not in first]
    weighed = [*((worth * hit.relevance, hit) for hit in overcome), *((hit.relevance, hit) for hit in others)]
    return [hit for _, hit in sorted(weighed, key=lambda pair: -pair[0])]


def _select_hits(hits: Sequence[Hit], wanted: SessionQuery) -> list[Hit]:
    """Only what will be shown is read: no session more often than asked for."""
    often: Counter[tuple[str, str]] = Counter()
    chosen: list[Hit] = []
    for hit in hits:
        session = study_store.session_from_entry_id(hit.id)
        often[session] += 1
        if often[session] <= wanted.per_session and len(chosen) <= wanted.limit:
            chosen.append(hit)
    return chosen


async def _load_matches(
    tx: Tx, project: str, hits: Mapping[str, Hit], tokens: set[str]
) -> dict[str, SessionMatch]:
    met = await study_store.load_errors(tx, project, list(hits))
    said = await study_store.load_passages(tx, project, [each for each in hits if each not in met])
    shown = {each: _match_from_error(row, hits[each].relevance) for each, row in met.items()}
    for each, pieces in said.items():
        shown[each] = _match_from_passage(each, pieces, tokens, hits[each].relevance)
    return shown


def _match_from_passage(
    identity: str, pieces: list[passages.PassagePiece], tokens: set[str], relevance: float
) -> SessionMatch:
    workspace, session = study_store.session_from_entry_id(identity)
    piece = passages.find_best_piece(pieces, tokens)
    return SessionMatch(
        workspace_id=workspace,
        session_id=session,
        line=piece.line,
        role=piece.role,
        snippet=passages.find_best_snippet(piece.text, tokens, SNIPPET_CHARACTERS),
        at="" if piece.at is None else iso(piece.at),
        relevance=round(relevance, 3),
    )


def _match_from_error(row: Row, relevance: float) -> SessionMatch:
    workspace, session = study_store.session_from_entry_id(row["id"])
    return SessionMatch(
        workspace_id=workspace,
        session_id=session,
        line=row["line"],
        role="error",
        snippet=_describe_error(row),
        at=iso(row["at"]),
        relevance=round(relevance, 3),
    )


def _describe_error(row: Row) -> str:
    """What happened, in the order in which it did."""
    followed = msgspec.json.decode(row["followed"], type=list[str])
    told = [row["text"], f"ran: {row['command']}" if row["command"] else ""]
    if row["fixed_line"]:
        told += [f"then: {'; '.join(followed)}", f"gone at line {row['fixed_line']}"]
    return "\n".join(part for part in told if part)


async def load_indexed_passages(tx: Tx, project: str, ids: Sequence[str]) -> Sequence[Row]:
    """For the search over everything."""
    met = await study_store.load_errors(tx, project, ids)
    said = await study_store.load_passages(tx, project, [each for each in ids if each not in met])
    rows = [
        _build_search_row(each, row["text"], _describe_error(row), row["line"]) for each, row in met.items()
    ]
    return rows + [
        _build_search_row(each, "", "\n".join(piece.text for piece in pieces), pieces[0].line)
        for each, pieces in said.items()
    ]


def _build_search_row(identity: str, title: str, words: str, line: int) -> Row:
    workspace, session = study_store.session_from_entry_id(identity)
    place = {"workspace_id": workspace, "session_id": session, "line": line}
    return {"id": identity, "title": title, "text": words, "place": place}


SEARCH_SOURCE = Source(index.TRANSCRIPT, load_indexed_passages, whole=study_store.session_from_entry_id)


async def scan_sessions(calls: Any, arguments: Mapping[str, Any], caller: Caller) -> SessionMatches | None:
    """Scan lines before the transaction, which must not wait for so many frames."""
    if arguments["mode"] == "smart":
        return None
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
        limits = Wanted(now, (index.TRANSCRIPT,), types)
        hits = await by_words(tx, query.query, project, limits, _LIKELY_SESSIONS)
        likely |= {study_store.session_from_entry_id(hit.id) for hit in hits}
    return likely
