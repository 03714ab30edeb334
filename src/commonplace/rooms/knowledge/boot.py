"""The boot sections `learnings`, `patterns` and `interface_updates`."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from commonplace.access import Caller
from commonplace.boot import BootSection, StartingSession, remove_process_words
from commonplace.call import Call, Calls
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
from commonplace.search.text import tokenize
from commonplace.store.database import Row

_LEARNING_TYPES = ("learning", "gotcha", "solution")
_PATTERN_TYPES = ("pattern", "architecture", "adr", "component", "config", "code_snippet")
_MAX_OFFERS = 5
_SNIPPET_BYTES = 240
_MAX_FILES = 20
_MAX_NEWS = 3
_MAX_AGENT_NAMES = 500
_TYPES_IN_PATTERNS = frozenset(_PATTERN_TYPES) - {"pattern"}
_DECISION_TYPES = frozenset({"adr", "architecture"})


@dataclass(frozen=True, slots=True)
class _Offer:
    row: Row
    broken: Row | None
    why: str
    question: str
    part: int = 0

    def _cut_snippet(self, max_bytes: int) -> str:
        """The best passage; of a decision its beginning, which tells what was decided."""
        is_decision = self.row["type"] in _DECISION_TYPES
        question, part = ("", 0) if is_decision else (self.question, self.part)
        return cut_excerpt(self.row["content"], question, part, max_bytes)

    def render_entry(self, now: int, snippet_bytes: int) -> dict[str, Any]:
        row, warning = self.row, build_document_warning(self.row, self.broken, now)
        return {
            "id": row["id"],
            "title": row["title"],
            **({"type": row["type"]} if row["type"] in _TYPES_IN_PATTERNS else {}),
            "snippet": self._cut_snippet(snippet_bytes),
            "author": row["author"],
            "age": format_age(row["changed_at"], now),
        } | {name: text for name, text in (("why", self.why), ("warning", warning)) if text}


async def prepare_topic(calls: Calls, arguments: Mapping[str, Any], _caller: Caller) -> Question:
    """The `prepare` of an operation that returns a boot pack: what its task is about."""
    return await calls.search.build_question(remove_process_words(arguments["task_description"]))


async def _ask_for_topic(call: Call, start: StartingSession) -> Question:
    """The prepared question; names of agents do not count as its words."""
    topic = remove_process_words(start.task)
    if not topic:
        return Question("")
    names = await recent_documents.list_agent_names(call.tx, start.project, _MAX_AGENT_NAMES)
    words = remove_process_words(topic, names)
    return replace(prepared_question(call, topic), text=words) if tokenize(words) else Question("")


async def _choose_offers(call: Call, start: StartingSession, types: Sequence[str]) -> list[dict[str, Any]]:
    """Documents about the task, then about the agent's last work, then what is new to it."""
    limit = start.scale_limit(_MAX_OFFERS)
    topic = await _ask_for_topic(call, start)
    offers: dict[str, _Offer] = {}
    queries: tuple[Callable[[], Awaitable[list[_Offer]]], ...] = (
        lambda: _find_offers(call, topic, types, limit, ""),
        lambda: _find_offers(call, Question(_describe_last_work(start)), types, limit, "your last work; "),
        lambda: _list_newest_offers(call, start, types, limit, offers),
    )
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
    recalled = await recall_items(call, question, projects, entry_filter, 2 * limit, only_relevant=True)
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
    call: Call, start: StartingSession, types: Sequence[str], limit: int, chosen: Collection[str]
) -> list[_Offer]:
    """The newest since the agent's last session began; to an agent that was not here before everything is new."""
    since, most = (0, limit) if start.previous_start is None else (start.previous_start, _MAX_NEWS)
    newest = await recent_documents.list_newest_of_types(
        call.tx, start.project, call.now, types, most + len(chosen), since
    )
    rows = [row for row in newest if row["id"] not in chosen][:most]
    broken = await evidence.find_broken_citations(call.tx, start.project, [row["id"] for row in rows])
    return [_Offer(row, broken.get(row["id"]), "recent", start.task) for row in rows]


def _describe_last_work(start: StartingSession) -> str:
    """The titles of the last handoff, work item and open work, and the names of their files."""
    left = [row for row in (start.handoff, start.work) if row]
    files = dict.fromkeys(file for row in left for file in store.decode_texts(row["files"]))
    titles = dict.fromkeys((*(row["title"] for row in left), *start.open_titles))
    return " ".join(
        (
            remove_process_words(" ".join(titles), (start.agent,)),
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
