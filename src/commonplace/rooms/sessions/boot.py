"""The boot sections of this room (`handoff`, `notable_tools`), and the parts of the pack that depend on who arrived."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec

from commonplace.boot import BootSection, StartingSession
from commonplace.call import Call
from commonplace.clock import age
from commonplace.operation import Operation
from commonplace.rooms.knowledge import recent_documents
from commonplace.rooms.knowledge.recall import quoted
from commonplace.rooms.sessions import store
from commonplace.rooms.sessions.arrival import Arrival, Given, Suggestion, suggested
from commonplace.rooms.sessions.model import UNKNOWN
from commonplace.rooms.sessions.pack import Part
from commonplace.rooms.work import store as work
from commonplace.store.database import Row

HANDOFF = "handoff"
_OTHERS = 5
_TASK_LENGTH = 120

_NOTABLE = (
    "memory_query",
    "memory_record_learning",
    "memory_update_work",
    "memory_lock_files",
    "memory_get_messages",
    "memory_send_message",
    "memory_list_backlog",
    "memory_find_function",
    "memory_end_session",
)


async def with_last_work(call: Call, start: StartingSession) -> StartingSession:
    """An agent that was here before goes on from what it left."""
    if start.previous_start is None:
        return start
    left = await recent_documents.of_type(call.tx, start.project, call.now, HANDOFF, 1, start.agent)
    items = await work.list_work_items(call.tx, start.project, 0, 1, start.agent)
    return replace(start, handoff=left[0] if left else None, work=items[0] if items else None)


async def handoff(call: Call, start: StartingSession) -> dict[str, Any]:
    """This agent's own last handoff whole, the others' by title."""
    told = _whole(start.handoff, call.now) if start.handoff else {}
    latest = await recent_documents.of_type(call.tx, start.project, call.now, HANDOFF, _OTHERS)
    others = [_titled(row, call.now) for row in latest if row["author"] != start.agent]
    return told | ({"others": others} if others else {})


def _whole(row: Row, now: int) -> dict[str, Any]:
    told = {
        "id": row["id"],
        "age": age(row["created_at"], now),
        "summary": row["title"],
        "content": row["content"],
    }
    more = {"files": msgspec.json.decode(row["files"]), "warning": quoted(row)}
    return told | {name: value for name, value in more.items() if value}


def _titled(row: Row, now: int) -> dict[str, str]:
    told = {
        "id": row["id"],
        "agent": row["author"],
        "title": row["title"],
        "age": age(row["created_at"], now),
    }
    warning = quoted(row)
    return told | ({"warning": warning} if warning else {})


async def notable_tools(call: Call, _start: StartingSession) -> list[str]:
    """Of those that are worth a mention, what this caller may use."""
    tools = [call.catalogue.tools.get(name) for name in _NOTABLE]
    return [tool.name for tool in tools if isinstance(tool, Operation) and call.caller.includes(tool.role)]


HANDOFF_SECTION = BootSection("handoff", 20, handoff)
NOTABLE_TOOLS_SECTION = BootSection("notable_tools", 95, notable_tools)


async def parts(
    call: Call, start: StartingSession, given: Given, arrived: Arrival, live: Sequence[Row]
) -> list[Part]:
    """What every room tells, and what follows from who arrived."""
    rooms = [
        Part(each.name, each.rank, await each.gather(call, start)) for each in call.catalogue.boot_sections
    ]
    found = await _suggestion(call, start)
    worker = {"name": arrived.agent, "spawned_by": given.spawned_by} if _is_worker(given, arrived) else {}
    return [
        *rooms,
        Part("registry_warning", 2, registry_warning(arrived, start.project)),
        Part("identity_suggestion", 3, identity_suggestion(found)),
        Part("worker", 4, worker),
        Part("action_needed", 5, action_needed(arrived, found, {part.name: part.value for part in rooms})),
        Part("role", 6, arrived.role),
        Part("active_agents", 40, active_agents(live, arrived, call.now)),
    ]


async def _suggestion(call: Call, start: StartingSession) -> Suggestion | None:
    if start.agent != UNKNOWN or not start.working_directory:
        return None
    return suggested(await store.agents_with_patterns(call.tx, start.project), start.working_directory)


def _is_worker(given: Given, arrived: Arrival) -> bool:
    return bool(given.spawned_by) and (arrived.tier == "worker" or not arrived.known)


def active_agents(live: Sequence[Row], arrived: Arrival, now: int) -> list[dict[str, Any]]:
    """Who else is there, one entry per agent, and whether somebody uses this agent's name already."""
    seen: dict[str, dict[str, Any]] = {}
    for row in live:
        entry = seen.setdefault(row["agent"], _entry(row, arrived, now))
        entry["sessions"] += 1
    return [
        entry
        if entry["sessions"] > 1
        else {name: value for name, value in entry.items() if name != "sessions"}
        for entry in seen.values()
    ]


def _entry(row: Row, arrived: Arrival, now: int) -> dict[str, Any]:
    same = {"same_name": True} if row["agent"] == arrived.agent and arrived.named else {}
    task = row["current_task"] or row["task"]
    doing = {"task": task[:_TASK_LENGTH]} if task else {}
    state = {} if row["status"] in {None, "idle"} else {"status": row["status"]}
    return (
        {"agent": row["agent"]} | same | state | doing | {"active": age(row["active_at"], now), "sessions": 0}
    )


def registry_warning(arrived: Arrival, project: str) -> str:
    if not arrived.pending:
        return ""
    return (
        f"'{arrived.agent}' is not on the roster of {project}: you are pending until an admin registers you."
    )


def identity_suggestion(found: Suggestion | None) -> dict[str, str]:
    if found is None:
        return {}
    role = {"role": found.role} if found.role else {}
    return {"agent": found.agent} | role | {"matched": found.pattern}


def action_needed(arrived: Arrival, found: Suggestion | None, told: dict[str, Any]) -> str:
    """The acts that come before the task itself, in one line."""
    urgent = (told.get("messages") or {}).get("urgent", 0)
    waiting = told.get("blocking_others") or []
    acts = (
        found and f"Start again with claude_instance='{found.agent}' if that is you.",
        not found
        and arrived.agent == UNKNOWN
        and "Start again with your own name: mail and handoffs go by name.",
        arrived.pending and "Ask an admin of the project to register you (memory_project, add_agent).",
        urgent and f"Read your urgent mail first ({urgent}): memory_get_messages.",
        waiting and f"Others wait for you ({len(waiting)}): see blocking_others.",
    )
    return " ".join(act for act in acts if act)
