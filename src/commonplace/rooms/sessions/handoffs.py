"""Unfinished handoffs: which one fits a starting session, and what an ending session opens and closes.

A handoff with notes stays open until it is taken, replaced by a newer one of the same work, its backlog items are closed
(`handoff_items.py`), or its document is no longer active. A summary without notes, or with notes that nothing is open, is a finished handoff: it is shown only if
nothing unfinished fits.
"""

import re
from collections.abc import Collection, Sequence

from commonplace import errors
from commonplace.boot import StartingSession
from commonplace.call import Call
from commonplace.identity.session import AgentSession
from commonplace.notices import Notice, notify_project
from commonplace.rooms.backlog.model import ReleasedClaim
from commonplace.rooms.sessions import handoff_store, store
from commonplace.rooms.sessions.handoff_items import list_unfinished_handoffs
from commonplace.rooms.sessions.model import OpenHandoff, format_closing_call
from commonplace.rooms.sessions.seat import NAME_BUSY_MICROSECONDS
from commonplace.store import ids
from commonplace.store.database import Row

_NO_FIT = 3
_MAX_CLOSING_WORDS = 200
_NOTHING_OPEN = re.compile(
    r"(?i)(?:none|n/a|nothing(?: (?:is|else is|more is|more|else))? (?:open|left|pending|outstanding|remaining|to do|to hand)"
    r"|no (?:open|remaining|pending|further) \w|(?:all|everything)(?: is)? (?:done|finished|completed?|closed))\b"
)


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
        await handoff_store.insert_handoff(call.tx, session, document, "finished", call.now)
        return
    await handoff_store.insert_handoff(call.tx, session, document, "open", call.now)
    await handoff_store.replace_handoffs(call.tx, session, document, call.now)
    left = notes or ", ".join(claim.title for claim in released_claims)
    await _announce_handoff(call, session, document, left)


async def _announce_handoff(call: Call, session: AgentSession, document: str, notes: str) -> None:
    """Tell the live sessions of the project what this one leaves open; the others read it when they start."""
    notice = Notice("handoff", {"agent": session.agent, "left": notes, "document": document})
    await notify_project(call.tx, session.project, notice, call.now, but=session.id)


async def list_still_open(call: Call, shown: Row | None) -> list[OpenHandoff]:
    """The handoff that the session was shown, if its end has not closed it, with the call that does."""
    if shown is None or not await handoff_store.is_open_handoff(call.tx, call.project, shown["id"]):
        return []
    closing_call = f"{format_closing_call(shown['id'])} of your next session"
    return [OpenHandoff(id=shown["id"], title=shown["title"], close_with=closing_call)]


async def take_handoffs(call: Call, prefixes: Sequence[str]) -> list[str]:
    """Close these handoffs; each may be named by the start of its id. One that left nothing open can be named, too."""
    taken = [await _find_handoff(call, prefix) for prefix in prefixes]
    await handoff_store.close_handoffs(call.tx, call.project, taken, call.agent, call.now)
    return taken


async def _find_handoff(call: Call, prefix: str) -> str:
    """The document of a handoff, open or not; earlier releases stored finished ones as documents only."""
    for table in ("handoff", "document"):
        matches = await ids.find_ids_by_prefix(call.tx, table, [call.project], prefix)
        if matches and (table == "handoff" or await handoff_store.is_handoff(call.tx, *matches[0])):
            return matches[0][1]
    open_rows = await list_unfinished_handoffs(call.tx, call.project, call.now)
    raise errors.NotFound(
        f"takes_handoff: there is no handoff '{prefix}' in {call.project}. The session goes on.",
        hint="Use ids that `handoff` in the reply of memory_start_session shows, or leave takes_handoff out.",
        open=[row["id"] for row in open_rows[:10]],
    )
