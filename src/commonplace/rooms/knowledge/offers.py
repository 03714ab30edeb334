"""What this room gives to the others: sections of the pack, a way to find by id, a sweep."""

from collections.abc import Mapping, Sequence
from typing import Any

from commonplace.call import Call
from commonplace.clock import DAY, age
from commonplace.config import Settings
from commonplace.rooms.knowledge import store
from commonplace.rooms.knowledge.operations import found
from commonplace.rooms.knowledge.recall import cut, projects_of, question_of, recall, why
from commonplace.rooms.sessions.boot import Section, Start
from commonplace.search.wanted import Wanted
from commonplace.store.database import Tx

_LEARNED = ("learning", "gotcha", "solution")
_PATTERNS = ("pattern", "architecture", "adr", "component", "config", "code_snippet")
_SHOWN = 5
_SNIPPET = 240
_SERVED_FOR = 7 * DAY


async def _chosen(call: Call, start: Start, types: Sequence[str]) -> list[dict[str, Any]]:
    """What fits the task; what is newest fills the rest."""
    wanted = Wanted(call.now, (store.KIND,), tuple(types))
    shown: dict[str, dict[str, Any]] = {}
    if start.task.strip():
        projects = projects_of(call, include_shared=True)
        for each in await recall(call, question_of(call, start.task), projects, wanted, _SHOWN):
            shown[each.row["id"]] = _line(
                each.row, start.task, each.hit.part, call.now, why(each, start.task, call.now)
            )
    if len(shown) < _SHOWN:
        for row in await store.recent(call.tx, start.project, call.now, _SHOWN, types):
            shown.setdefault(row["id"], _line(row, start.task, 0, call.now, "recent"))
    return list(shown.values())[:_SHOWN]


def _line(row: Mapping[str, Any], task: str, part: int, now: int, reason: str) -> dict[str, Any]:
    return {
        "id": row["id"],
        "title": row["title"],
        "snippet": cut(row["content"], task, part, _SNIPPET),
        "age": age(row["changed_at"], now),
        "why": reason,
    }


async def _learnings(call: Call, start: Start) -> list[dict[str, Any]]:
    return await _chosen(call, start, _LEARNED)


async def _patterns(call: Call, start: Start) -> list[dict[str, Any]]:
    return await _chosen(call, start, _PATTERNS)


async def _interface_updates(call: Call, start: Start) -> list[dict[str, Any]]:
    since = start.previous_start or call.now - 7 * DAY
    rows = await store.interfaces_since(call.tx, start.project, since, _SHOWN)
    return [
        {
            "id": row["id"],
            "interface": row["interface_name"],
            "version": row["interface_version"],
            "owner": row["interface_owner"],
            "title": row["title"],
            "age": age(row["changed_at"], call.now),
        }
        for row in rows
    ]


async def forget_expired(tx: Tx, now: int, settings: Settings) -> None:  # noqa: ARG001 - the shape of every sweep
    await store.expire(tx, now)
    await store.forget_served(tx, now - _SERVED_FOR)


learnings = Section("learnings", 25, _learnings)
patterns = Section("patterns", 60, _patterns)
interface_updates = Section("interface_updates", 55, _interface_updates)
finders = {"doc_": found}
