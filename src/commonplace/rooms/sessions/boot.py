"""The boot section `handoff`, and the parts of the boot pack that depend on the starting agent."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec
from msgspec import structs

from commonplace.boot import BootSection, PartialSection, StartingSession
from commonplace.call import Call
from commonplace.clock import format_age, iso
from commonplace.rooms.agents.model import derive_status
from commonplace.rooms.knowledge import recent_documents
from commonplace.rooms.knowledge.document_warnings import warn_of_instructions
from commonplace.rooms.sessions import store
from commonplace.rooms.sessions.agent_identity import (
    IdentitySuggestion,
    ResolvedAgent,
    SessionRequest,
    suggest_identity,
)
from commonplace.rooms.sessions.boot_pack import PackPart
from commonplace.rooms.sessions.handoff_items import list_unfinished_handoffs
from commonplace.rooms.sessions.handoffs import find_fitting_handoff
from commonplace.rooms.sessions.model import format_closing_call
from commonplace.rooms.work import store as work
from commonplace.rooms.work.model import HANDED_OVER, OPEN_STATUSES
from commonplace.shortening import shorten_text
from commonplace.store.database import Row, Tx, Work
from commonplace.store.shared_reads import run_together

HANDOFF_TYPE = "handoff"
_NO_NOTES = "none"
"""The title is all there is: nobody need open the handoff."""
_MAX_OTHER_HANDOFFS = 5
_MAX_HANDOFFS_READ = 50
_MAX_SHOWN_TASK_CHARACTERS = 120
_MAX_WORK_ITEMS = 5


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
    handoffs = await recent_documents.list_documents_of_type(
        call.tx, start.project, call.now, HANDOFF_TYPE, 1, start.agent
    )
    return replace(start, handoff=handoffs[0] if handoffs else None)


async def render_handoffs(call: Call, start: StartingSession) -> dict[str, Any]:
    """Render the handoff to continue in full, and of each other agent the last unfinished or else the last by title."""
    rows = await recent_documents.list_documents_of_type(
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


HANDOFF_SECTION = BootSection("handoff", 20, render_handoffs)


async def gather_boot_parts(
    call: Call,
    start: StartingSession,
    request: SessionRequest,
    agent: ResolvedAgent,
    live_sessions: Sequence[Row],
) -> tuple[list[PackPart], set[str]]:
    """Gather the boot sections of all rooms, the parts that depend on the agent, and whose texts are to be marked."""
    sections = call.catalogue.boot_sections

    async def find_suggestion(tx: Tx) -> IdentitySuggestion | None:
        return None if request.gives_name else await _find_identity_suggestion(tx, start)

    works: list[Work[Any]] = [partial(_gather_section, call, start, section) for section in sections]
    works += [find_suggestion, lambda tx: store.list_outsiders(tx, start.project)]
    *gathered, suggestion, outsiders = await run_together(call.tx, works)
    room_parts = [_make_part(*each) for each in zip(sections, gathered, strict=True)]
    worker = {"name": agent.name, "spawned_by": request.spawned_by} if _is_worker(request, agent) else {}
    parts = [
        *room_parts,
        PackPart("registry_warning", 2, format_registry_warning(agent, start.project)),
        PackPart("identity_suggestion", 3, render_identity_suggestion(suggestion)),
        PackPart("worker", 4, worker),
        PackPart(
            "action_needed",
            5,
            " ".join(
                filter(
                    None,
                    (
                        format_earlier_session(start, call.now),
                        format_action_needed(
                            agent, suggestion, {part.name: part.value for part in room_parts}
                        ),
                    ),
                )
            ),
        ),
        PackPart("role", 6, "" if agent.role == request.role else agent.role),
        PackPart("active_agents", 40, render_active_agents(live_sessions, agent, call.now)),
    ]
    return parts, outsiders


async def _gather_section(call: Call, start: StartingSession, section: BootSection, tx: Tx) -> object:
    return await section.gather(structs.replace(call, tx=tx), start)


def _make_part(section: BootSection, value: object) -> PackPart:
    if isinstance(value, PartialSection):
        return PackPart(section.name, section.rank, list(value.items), value.omitted)
    return PackPart(section.name, section.rank, value)


async def _find_identity_suggestion(tx: Tx, start: StartingSession) -> IdentitySuggestion | None:
    if not start.working_directory:
        return None
    return suggest_identity(
        await store.list_agents_with_path_patterns(tx, start.project), start.working_directory
    )


def _is_worker(request: SessionRequest, agent: ResolvedAgent) -> bool:
    return bool(request.spawned_by) and (agent.tier == "worker" or not agent.is_known)


def render_active_agents(
    live_sessions: Sequence[Row], agent: ResolvedAgent, now: int
) -> list[dict[str, Any]]:
    """Render one entry per agent with a live session; `same_name` marks sessions of this agent's name."""
    entry_by_agent: dict[str, dict[str, Any]] = {}
    for row in live_sessions:
        entry = entry_by_agent.setdefault(row["agent"], _render_active_agent(row, agent, now))
        entry["sessions"] += 1
    return [
        entry
        if entry["sessions"] > 1
        else {name: value for name, value in entry.items() if name != "sessions"}
        for entry in entry_by_agent.values()
    ]


def _render_active_agent(row: Row, agent: ResolvedAgent, now: int) -> dict[str, Any]:
    same_name = {"same_name": True} if row["agent"] == agent.name else {}
    task = row["current_task"]
    task_field = {"task": shorten_text(task, _MAX_SHOWN_TASK_CHARACTERS)} if task else {}
    is_reported = row["status_at"] is not None and row["status"] == derive_status(
        {**row, "locks": 0, "locked_until": None, "has_worked": True}, now
    )
    status_field = {"status": row["status"]} if is_reported and row["status"] != "idle" else {}
    return (
        {"agent": row["agent"]}
        | same_name
        | status_field
        | task_field
        | {"active": format_age(row["active_at"], now), "sessions": 0}
    )


def format_registry_warning(agent: ResolvedAgent, project: str) -> str:
    if not agent.is_pending:
        return ""
    return f"'{agent.name}' is not on the roster of {project}: you are pending until an admin adds you."


def render_identity_suggestion(suggestion: IdentitySuggestion | None) -> dict[str, str]:
    if suggestion is None:
        return {}
    role = {"role": suggestion.role} if suggestion.role else {}
    return {"agent": suggestion.agent} | role | {"matched": suggestion.pattern}


def format_earlier_session(start: StartingSession, now: int) -> str:
    """Tell the agent that it continues a session that did not end, and what to do about its locks."""
    if not start.earlier_sessions:
        return ""
    last_call = format_age(max(each.active_at for each in start.earlier_sessions), now)
    return (
        f"You continue your earlier session, which did not end (last call: {last_call}). `your_locks` are still yours"
        " until they expire, but your calls renew only what you lock again (memory_lock_files)."
    )


def format_action_needed(
    agent: ResolvedAgent, suggestion: IdentitySuggestion | None, sections: dict[str, Any]
) -> str:
    """Format the steps to take before the task itself, in one line."""
    urgent = (sections.get("messages") or {}).get("urgent", 0)
    waiting = sections.get("blocking_others") or []
    steps = (
        suggestion
        and f"If you are '{suggestion.agent}', start again with claude_instance='{suggestion.agent}'.",
        agent.refused_name
        and f"You are '{agent.name}': the name '{agent.refused_name}' is in use by another agent.",
        agent.is_pending and "Ask a project admin to add you (memory_project, action='add_agent').",
        urgent and f"Call memory_get_messages: {urgent} urgent.",
        waiting and f"{len(waiting)} work items wait for you: see blocking_others.",
    )
    return " ".join(step for step in steps if step)
