"""The boot sections `learnings`, `patterns` and `interface_updates`."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from commonplace.boot import BootSection, StartingSession
from commonplace.call import Call
from commonplace.clock import DAY, age
from commonplace.rooms.knowledge import evidence, recent_documents, store
from commonplace.rooms.knowledge.excerpts import cut
from commonplace.rooms.knowledge.recall import (
    projects_of,
    question_of,
    reads_like_orders,
    recall,
    served,
    warned,
    why,
)
from commonplace.search.find import Question
from commonplace.search.wanted import Wanted
from commonplace.store.database import Row

_LEARNED = ("learning", "gotcha", "solution")
_PATTERNS = ("pattern", "architecture", "adr", "component", "config", "code_snippet")
_SHOWN = 5
_SNIPPET = 240
_FILES = 20


@dataclass(frozen=True, slots=True)
class _Offer:
    row: Row
    broken: Row | None
    why: str
    asked: str
    part: int = 0

    def line(self, now: int) -> dict[str, Any]:
        row, warning = self.row, warned(self.row, self.broken, now)
        return {
            "id": row["id"],
            "title": row["title"],
            "snippet": cut(row["content"], self.asked, self.part, _SNIPPET),
            "age": age(row["changed_at"], now),
            "why": self.why,
        } | ({"warning": warning} if warning else {})


async def _chosen(call: Call, start: StartingSession, types: Sequence[str]) -> list[dict[str, Any]]:
    """What fits the task, then what fits the agent's last work; what is newest fills the rest."""
    looks: tuple[Callable[[], Awaitable[list[_Offer]]], ...] = (
        lambda: _fitting(call, question_of(call, start.task), types, ""),
        lambda: _fitting(call, Question(_last_work(start)), types, "your last work; "),
        lambda: _newest(call, start, types),
    )
    offers: dict[str, _Offer] = {}
    for look in looks:
        if len(offers) < _SHOWN:
            for each in await look():
                offers.setdefault(each.row["id"], each)
    chosen = list(offers.values())[:_SHOWN]
    served(call, [(each.row["project"], each.row["id"]) for each in chosen], opened=False)
    return [each.line(call.now) for each in chosen]


async def _fitting(call: Call, question: Question, types: Sequence[str], reason: str) -> list[_Offer]:
    """Nobody asked for what is offered, so nothing that reads like orders is."""
    if not question.text.strip():
        return []
    wanted, projects = Wanted(call.now, (store.KIND,), tuple(types)), projects_of(call, include_shared=True)
    found = await recall(call, question, projects, wanted, 2 * _SHOWN)
    shown = [each for each in found if not reads_like_orders(each.row)][:_SHOWN]
    return [
        _Offer(
            each.row, each.broken, reason + why(each, question.text, call.now), question.text, each.hit.part
        )
        for each in shown
    ]


async def _newest(call: Call, start: StartingSession, types: Sequence[str]) -> list[_Offer]:
    rows = await recent_documents.offered(call.tx, start.project, call.now, types, _SHOWN)
    broken = await evidence.worst(call.tx, start.project, [row["id"] for row in rows])
    return [_Offer(row, broken.get(row["id"]), "recent", start.task) for row in rows]


def _last_work(start: StartingSession) -> str:
    """The words of what the agent did last, and the names of the files that it changed."""
    left = [row for row in (start.handoff, start.work) if row]
    files = dict.fromkeys(file for row in left for file in store.texts(row["files"]))
    return " ".join(
        (*(row["title"] for row in left), *(evidence.file_name(file) for file in list(files)[:_FILES]))
    )


async def list_learnings(call: Call, start: StartingSession) -> list[dict[str, Any]]:
    return await _chosen(call, start, _LEARNED)


async def list_patterns(call: Call, start: StartingSession) -> list[dict[str, Any]]:
    return await _chosen(call, start, _PATTERNS)


async def list_interface_updates(call: Call, start: StartingSession) -> list[dict[str, Any]]:
    since = start.previous_start or call.now - 7 * DAY
    rows = await recent_documents.interfaces(call.tx, start.project, call.now, since, _SHOWN)
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


LEARNINGS_SECTION = BootSection("learnings", 25, list_learnings)
PATTERNS_SECTION = BootSection("patterns", 60, list_patterns)
INTERFACE_UPDATES_SECTION = BootSection("interface_updates", 55, list_interface_updates)
