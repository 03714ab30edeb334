"""Unfinished handoffs: which one fits a starting session, and what an ending session opens and closes.

A handoff with notes stays open until it is taken, replaced by a newer one of the same work, its backlog items are closed,
or its document is no longer active. Which are finished is derived when they are read, so that an item that is opened
again brings its handoff back. A summary without notes, or with notes that nothing is open, is a finished handoff: it is
shown only if nothing unfinished fits. Their texts are documents of the type `handoff` (rooms/knowledge)."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from commonplace import errors
from commonplace.boot import StartingSession
from commonplace.call import Call
from commonplace.clock import format_age, iso
from commonplace.identity.liveness import NAME_BUSY_MICROSECONDS
from commonplace.identity.session import AgentSession
from commonplace.notices import Notice, notify_project
from commonplace.rooms.backlog.model import ReleasedClaim
from commonplace.rooms.knowledge import store as documents
from commonplace.rooms.knowledge.contributes import warn_of_instructions
from commonplace.rooms.knowledge.drafts import Draft
from commonplace.rooms.sessions import store
from commonplace.rooms.sessions.model import (
    DOCUMENT_LIFETIMES,
    OpenHandoff,
    format_closing_call,
)
from commonplace.rooms.work import store as work
from commonplace.rooms.work.model import HANDED_OVER, OPEN_STATUSES
from commonplace.shortening import shorten_text
from commonplace.store import ids
from commonplace.store.database import Row, Tx

_ITEM_ID = re.compile(r"\bbacklog_[0-9a-f]{12}\b")
_NO_FIT = 3
_MAX_CLOSING_WORDS = 200
_NOTHING_OPEN = re.compile(
    r"(?i)(?:none|n/a|nothing(?: (?:is|else is|more is|more|else))? (?:open|left|pending|outstanding|remaining|to do|to hand)"
    r"|no (?:open|remaining|pending|further) \w|(?:all|everything)(?: is)? (?:done|finished|completed?|closed))\b"
)
HANDOFF_TYPE = "handoff"
_MAX_TITLE_CHARACTERS = 120
_NO_NOTES = "none"
"""The title is all there is: nobody need open the handoff."""
_MAX_OTHER_HANDOFFS = 5
_MAX_HANDOFFS_READ = 50
_MAX_WORK_ITEMS = 5

_MAX_OPEN_HANDOFFS = 100


async def insert_handoff(tx: Tx, session: AgentSession, document: str, status: str, now: int) -> None:
    """Insert the handoff of an ending session, with the directory, branch and task that it belongs to."""
    await tx.queue(
        "insert into handoff (project, id, agent, directory, branch, task, status, closed_by, created_at, automatic, session)"
        " select project, cast($3 as text), agent, working_directory, branch, task, cast($5 as text), '',"
        " cast($4 as bigint), 0, id from session"
        " where project = $1 and id = $2",
        session.project,
        session.id,
        document,
        now,
        status,
    )


async def list_open_handoffs(tx: Tx, project: str, now: int) -> Sequence[Row]:
    """List open handoffs whose document is active, newest first; `is_resumed` if their agent has worked since."""
    return await tx.all(
        "select handoff.id, handoff.agent, handoff.directory, handoff.branch, handoff.task, handoff.session, document.title,"
        " document.content, document.author, document.files, document.flags, document.created_at,"
        " exists (select 1 from session where session.project = $1 and session.agent = handoff.agent"
        "  and session.started_at > handoff.created_at) as is_resumed from handoff"
        " join document on document.project = $1 and document.id = handoff.id"
        " where handoff.project = $1 and handoff.status = 'open' and document.status = 'active'"
        " and (document.expires_at is null or document.expires_at > $2)"
        " order by handoff.created_at desc, handoff.id limit $3",
        project,
        now,
        _MAX_OPEN_HANDOFFS,
    )


async def list_items_of_sessions(tx: Tx, project: str, sessions: Sequence[str]) -> dict[str, set[str]]:
    """The backlog items that each of these sessions worked on."""
    items: dict[str, set[str]] = {}
    for row in await tx.all(
        "select session, item from work where project = $1 and session = any($2) and item <> ''",
        project,
        list(sessions),
    ):
        items.setdefault(row["session"], set()).add(row["item"])
    return items


async def load_closing_times(tx: Tx, project: str, items: Sequence[str]) -> dict[str, int]:
    """When each of these backlog items was closed; those that are open are missing."""
    rows = await tx.all(
        "select id, completed_at from backlog where project = $1 and id = any($2) and closed = 1",
        project,
        list(items),
    )
    return {row["id"]: row["completed_at"] for row in rows}


async def is_open_handoff(tx: Tx, project: str, document: str) -> bool:
    row = await tx.one(
        "select 1 as yes from handoff where project = $1 and id = $2 and status = 'open'", project, document
    )
    return row is not None


async def is_handoff(tx: Tx, project: str, document: str) -> bool:
    row = await tx.one(
        "select 1 as yes from document where project = $1 and id = $2 and type = 'handoff'", project, document
    )
    return row is not None


async def close_handoffs(tx: Tx, project: str, ids: Sequence[str], agent: str, now: int) -> None:
    await tx.queue(
        "update handoff set status = 'taken', closed_by = $3, closed_at = $4"
        " where project = $1 and id = any($2) and status = 'open'",
        project,
        list(ids),
        agent,
        now,
    )


async def replace_handoffs(tx: Tx, session: AgentSession, document: str, now: int) -> None:
    """Close what the agent left before for the same directory and branch; this document replaces it."""
    await tx.queue(
        "update handoff set status = 'replaced', closed_by = agent, closed_at = $4"
        " where project = $1 and status = 'open' and id <> $3 and exists (select 1 from handoff as newer"
        "  where newer.project = $1 and newer.id = $3 and newer.agent = handoff.agent"
        "  and newer.directory = handoff.directory and newer.branch = handoff.branch)"
        " and agent = $2",
        session.project,
        session.agent,
        document,
        now,
    )


async def list_unfinished_handoffs(tx: Tx, project: str, now: int) -> list[Row]:
    """List open handoffs, newest first, without those whose backlog items were all closed since."""
    return await drop_finished_handoffs(tx, project, await list_open_handoffs(tx, project, now))


async def drop_finished_handoffs(tx: Tx, project: str, handoffs: Sequence[Row]) -> list[Row]:
    """Leave out handoffs whose backlog items were all closed since; a handoff without items stays."""
    if not handoffs:
        return []
    worked_items = await list_items_of_sessions(tx, project, [row["session"] for row in handoffs])
    items_by_handoff = {
        row["id"]: {*_ITEM_ID.findall(row["content"]), *worked_items.get(row["session"], ())}
        for row in handoffs
    }
    items = sorted(set().union(*items_by_handoff.values()))
    closed_at = await load_closing_times(tx, project, items) if items else {}
    return [row for row in handoffs if not _is_finished(row, items_by_handoff[row["id"]], closed_at)]


def _is_finished(handoff: Row, items: set[str], closed_at: Mapping[str, int]) -> bool:
    """An item that is open, or unknown in this project, is in no case closed."""
    left = [item for item in items if closed_at.get(item, handoff["created_at"] + 1) > handoff["created_at"]]
    return bool(left) and all(item in closed_at for item in left)


def leaves_work(notes: str, released_claims: Sequence[object]) -> bool:
    """Do these notes leave something to the next session? Short ones that say that nothing is open do not."""
    text = notes.strip()
    is_closing = len(text) <= _MAX_CLOSING_WORDS and _NOTHING_OPEN.match(text) is not None
    return bool(released_claims) or bool(text and not is_closing)


async def find_fitting_handoff(call: Call, start: StartingSession) -> Row | None:
    """The newest open handoff of the same agent, else of the same directory and branch, else of the same task.

    Those of other agents that are at work are theirs to continue.
    """
    return await _choose_fitting(
        call, start, await list_unfinished_handoffs(call.tx, start.project, call.now)
    )


async def find_shown_handoff(call: Call, session: AgentSession) -> Row | None:
    """The unfinished handoff that the session was given when it started, if it has not been closed since."""
    rows = await list_unfinished_handoffs(call.tx, session.project, call.now)
    if not rows:
        return None
    started = await store.load_start(call.tx, session)
    start = StartingSession(
        session.project, session.agent, session.id, started["task"], session.working_directory, None
    )
    return await _choose_fitting(
        call, start, [row for row in rows if row["created_at"] <= started["started_at"]]
    )


async def _choose_fitting(call: Call, start: StartingSession, rows: Sequence[Row]) -> Row | None:
    if not rows:
        return None
    busy = await store.list_busy_names(call.tx, start.project, call.now - NAME_BUSY_MICROSECONDS)
    best = min(rows, key=lambda row: _rank_fit(row, start, call.caller.branch, busy))
    return best if _rank_fit(best, start, call.caller.branch, busy) < _NO_FIT else None


def _rank_fit(row: Row, start: StartingSession, branch: str, busy: Collection[str]) -> int:
    if row["agent"] == start.agent:
        return 0
    if row["agent"] in busy:
        return _NO_FIT
    if row["directory"] and (row["directory"], row["branch"]) == (start.working_directory, branch):
        return 1
    task = _fold_task(start.task)
    return 2 if task and task == _fold_task(row["task"]) else _NO_FIT


def _fold_task(task: str) -> str:
    return " ".join(task.casefold().split())


async def record_handoff(
    call: Call,
    session: AgentSession,
    document: str,
    notes: str,
    released_claims: Sequence[ReleasedClaim],
) -> None:
    """Open the handoff of a session that ends, and tell the others; one that leaves nothing open is only recorded."""
    if not leaves_work(notes, released_claims):
        await insert_handoff(call.tx, session, document, "finished", call.now)
        return
    await insert_handoff(call.tx, session, document, "open", call.now)
    await replace_handoffs(call.tx, session, document, call.now)
    left = notes or ", ".join(claim.title for claim in released_claims)
    await _announce_handoff(call, session, document, left)


async def _announce_handoff(call: Call, session: AgentSession, document: str, notes: str) -> None:
    """Tell the live sessions of the project what this one leaves open; the others read it when they start."""
    notice = Notice("handoff", {"agent": session.agent, "left": notes, "document": document})
    await notify_project(call.tx, session.project, notice, call.now, but=session.id)


async def list_still_open(call: Call, shown: Row | None) -> list[OpenHandoff]:
    """The handoff that the session was shown, if its end has not closed it, with the call that does."""
    if shown is None or not await is_open_handoff(call.tx, call.project, shown["id"]):
        return []
    closing_call = f"{format_closing_call(shown['id'])} of your next session"
    return [OpenHandoff(id=shown["id"], title=shown["title"], close_with=closing_call)]


async def take_handoffs(call: Call, prefixes: Sequence[str]) -> list[str]:
    """Close these handoffs; each may be named by the start of its id. One that left nothing open can be named, too."""
    taken = [await _find_handoff(call, prefix) for prefix in prefixes]
    await close_handoffs(call.tx, call.project, taken, call.agent, call.now)
    return taken


async def _find_handoff(call: Call, prefix: str) -> str:
    """The document of a handoff, open or not; earlier releases stored finished ones as documents only."""
    for table in ("handoff", "document"):
        matches = await ids.find_ids_by_prefix(call.tx, table, [call.project], prefix)
        if matches and (table == "handoff" or await is_handoff(call.tx, *matches[0])):
            return matches[0][1]
    open_rows = await list_unfinished_handoffs(call.tx, call.project, call.now)
    raise errors.NotFound(
        f"takes_handoff: there is no handoff '{prefix}' in {call.project}. The session goes on.",
        hint="Use ids that `handoff` in the reply of memory_start_session shows, or leave takes_handoff out.",
        open=[row["id"] for row in open_rows[:10]],
    )


async def load_last_handoff_and_work(call: Call, start: StartingSession) -> StartingSession:
    """Add the unfinished handoff that fits; to an agent that was here before also its last work item."""
    unfinished = await find_fitting_handoff(call, start)
    if unfinished is not None:
        start = replace(start, handoff=unfinished, handoff_is_unfinished=True)
    if start.previous_start is None:
        return start
    items = await work.list_work_items(call.tx, start.project, 0, _MAX_WORK_ITEMS, start.agent)
    open_titles = tuple(row["title"] for row in items if row["status"] in (*OPEN_STATUSES, HANDED_OVER))
    start = replace(start, work=items[0] if items else None, latest_work=items, open_titles=open_titles)
    if start.handoff is not None:
        return start
    handoffs = await documents.list_documents_of_type(
        call.tx, start.project, call.now, HANDOFF_TYPE, 1, start.agent
    )
    return replace(start, handoff=handoffs[0] if handoffs else None)


async def render_handoffs(call: Call, start: StartingSession) -> dict[str, Any]:
    """Render the handoff to continue in full, and of each other agent the last unfinished or else the last by title."""
    rows = await documents.list_documents_of_type(
        call.tx, start.project, call.now, HANDOFF_TYPE, _MAX_HANDOFFS_READ
    )
    own = _render_handoff(start, start.handoff, rows, call.now) if start.handoff else {}
    open_rows = await list_unfinished_handoffs(call.tx, start.project, call.now)
    resumed_by_id = {row["id"]: bool(row["is_resumed"]) for row in open_rows}
    latest: dict[str, Row] = {}
    for row in sorted(rows, key=lambda row: row["id"] not in resumed_by_id):
        if row["author"] != start.agent and row["id"] != own.get("id"):
            latest.setdefault(row["author"], row)
    others = [
        _render_handoff_title(row, call.now, resumed_by_id.get(row["id"]))
        for row in [*latest.values()][:_MAX_OTHER_HANDOFFS]
    ]
    return own | ({"others": others} if others else {})


def _render_handoff(start: StartingSession, row: Row, newest: Sequence[Row], now: int) -> dict[str, Any]:
    fields = {
        "id": row["id"],
        "from": row["author"],
        "at": iso(row["created_at"]),
        "age": format_age(row["created_at"], now),
        "notes": row["content"],
    }
    optional = {
        "unfinished": start.handoff_is_unfinished,
        "close_with": format_closing_call(row["id"]) if start.handoff_is_unfinished else "",
        "since_then": _format_later_handoff(row, newest, now),
        "files": msgspec.json.decode(row["files"]),
        "warning": warn_of_instructions(row),
    }
    return fields | {name: value for name, value in optional.items() if value}


def _format_later_handoff(row: Row, newest: Sequence[Row], now: int) -> str:
    """One line about what the same agent has left since, which may be more than the handoff knows."""
    for later in newest:
        if later["author"] == row["author"] and later["created_at"] > row["created_at"]:
            return f"{later['title']} ({later['id']}, {format_age(later['created_at'], now)})"
    return ""


def _render_handoff_title(row: Row, now: int, is_resumed: bool | None) -> dict[str, Any]:
    """`is_resumed` is None for a handoff that left nothing open."""
    fields = {
        "id": row["id"],
        "agent": row["author"],
        "title": row["title"],
        "age": format_age(row["created_at"], now),
    }
    optional = {
        "notes": "" if row["content"].strip() != row["title"] else _NO_NOTES,
        "unfinished": is_resumed is False,
        "resumed": bool(is_resumed),
        "warning": warn_of_instructions(row),
    }
    return fields | {name: value for name, value in optional.items() if value}


def draft_document(kind: str, content: str, files: tuple[str, ...], now: int) -> Draft:
    """Draft a document. Its files were changed in the session, but are not evidence for its text."""
    expires_at = now + DOCUMENT_LIFETIMES[kind]
    return Draft(kind, _truncate_title(content), content, (), files, expires_at, cites=False)


def _truncate_title(text: str) -> str:
    return shorten_text(text.partition("\n")[0].strip(), _MAX_TITLE_CHARACTERS)
