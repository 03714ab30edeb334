"""The boot sections `learnings`, `patterns` and `interface_updates`."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from commonplace.boot import BootSection, StartingSession
from commonplace.call import Call
from commonplace.clock import DAY, format_age
from commonplace.rooms.knowledge import evidence, recent_documents, store
from commonplace.rooms.knowledge.document_warnings import build_document_warning, is_instruction_like
from commonplace.rooms.knowledge.excerpts import cut_excerpt
from commonplace.rooms.knowledge.match_reason import explain_match
from commonplace.rooms.knowledge.recall import (
    note_shown_documents,
    prepared_question,
    recall_items,
)
from commonplace.rooms.specs.readers import list_spec_updates
from commonplace.search.find import Question
from commonplace.search.query import EntryFilter
from commonplace.store.database import Row

_LEARNING_TYPES = ("learning", "gotcha", "solution")
_PATTERN_TYPES = ("pattern", "architecture", "adr", "component", "config", "code_snippet")
_MAX_OFFERS = 5
_SNIPPET_BYTES = 240
_MAX_FILES = 20


@dataclass(frozen=True, slots=True)
class _Offer:
    row: Row
    broken: Row | None
    why: str
    question: str
    part: int = 0

    def render_entry(self, now: int, snippet_bytes: int) -> dict[str, Any]:
        row, warning = self.row, build_document_warning(self.row, self.broken, now)
        return {
            "id": row["id"],
            "title": row["title"],
            "snippet": cut_excerpt(row["content"], self.question, self.part, snippet_bytes),
            "author": row["author"],
            "age": format_age(row["changed_at"], now),
        } | {name: text for name, text in (("why", self.why), ("warning", warning)) if text}


async def _choose_offers(call: Call, start: StartingSession, types: Sequence[str]) -> list[dict[str, Any]]:
    """Documents about the task, then about the agent's last work, then the newest."""
    limit = start.scale_limit(_MAX_OFFERS)
    queries: tuple[Callable[[], Awaitable[list[_Offer]]], ...] = (
        lambda: _find_offers(call, prepared_question(call, start.task), types, limit, ""),
        lambda: _find_offers(call, Question(_describe_last_work(start)), types, limit, "your last work; "),
        lambda: _list_newest_offers(call, start, types, limit),
    )
    offers: dict[str, _Offer] = {}
    for run_query in queries:
        if len(offers) < limit:
            for offer in await run_query():
                offers.setdefault(offer.row["id"], offer)
    chosen = list(offers.values())[:limit]
    note_shown_documents(call, [(each.row["project"], each.row["id"]) for each in chosen], opened=False)
    return [each.render_entry(call.now, start.scale_limit(_SNIPPET_BYTES)) for each in chosen]


async def _find_offers(
    call: Call, question: Question, types: Sequence[str], limit: int, reason: str
) -> list[_Offer]:
    """Leaves out what reads like instructions, because nobody asked for these documents."""
    if not question.text.strip():
        return []
    entry_filter, projects = (
        EntryFilter(call.now, (store.DOCUMENT_KIND,), tuple(types)),
        call.list_read_projects(include_shared=True),
    )
    recalled = await recall_items(call, question, projects, entry_filter, 2 * limit)
    offered = [each for each in recalled.items if not is_instruction_like(each.row)][:limit]
    return [
        _Offer(
            each.row,
            each.broken,
            reason + explain_match(each, question) or "weak match",
            question.text,
            each.hit.part,
        )
        for each in offered
    ]


async def _list_newest_offers(
    call: Call, start: StartingSession, types: Sequence[str], limit: int
) -> list[_Offer]:
    rows = await recent_documents.list_newest_of_types(call.tx, start.project, call.now, types, limit)
    broken = await evidence.find_broken_citations(call.tx, start.project, [row["id"] for row in rows])
    return [_Offer(row, broken.get(row["id"]), "recent", start.task) for row in rows]


def _describe_last_work(start: StartingSession) -> str:
    """The titles of the last handoff and work item, and the names of their files."""
    left = [row for row in (start.handoff, start.work) if row]
    files = dict.fromkeys(file for row in left for file in store.decode_texts(row["files"]))
    return " ".join(
        (
            *(row["title"] for row in left),
            *(evidence.extract_file_stem(file) for file in list(files)[:_MAX_FILES]),
        )
    )


async def list_learnings(call: Call, start: StartingSession) -> list[dict[str, Any]]:
    return await _choose_offers(call, start, _LEARNING_TYPES)


async def list_patterns(call: Call, start: StartingSession) -> list[dict[str, Any]]:
    return await _choose_offers(call, start, _PATTERN_TYPES)


async def list_interface_updates(call: Call, start: StartingSession) -> list[dict[str, Any]]:
    since = start.previous_start or call.now - 7 * DAY
    rows = await recent_documents.list_changed_interfaces(
        call.tx, start.project, call.now, since, _MAX_OFFERS
    )
    documents = [
        {
            "id": row["id"],
            "interface": row["interface_name"],
            "version": row["interface_version"],
            "owner": row["interface_owner"],
            "title": row["title"],
            "age": format_age(row["changed_at"], call.now),
        }
        for row in rows
    ]
    return [*await list_spec_updates(call, start), *documents]


LEARNINGS_SECTION = BootSection("learnings", 25, list_learnings)
PATTERNS_SECTION = BootSection("patterns", 60, list_patterns)
INTERFACE_UPDATES_SECTION = BootSection("interface_updates", 55, list_interface_updates)
