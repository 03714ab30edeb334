"""What this room gives to the others: documents to the search, to ids and as resources, offers to a starting session,
events, and its retention."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from commonplace import errors
from commonplace.access import SHARED, Caller
from commonplace.agent_names import AgentRename
from commonplace.boot import BootSection, StartingSession, remove_process_words
from commonplace.call import Call, Calls
from commonplace.clock import DAY, format_age, iso
from commonplace.events import EventType
from commonplace.operation import Reply, operation
from commonplace.outdated_citations import find_outdated_citations
from commonplace.project import list_all_project_names
from commonplace.quoting.marks import INSTRUCTIONS_WARNING
from commonplace.resource import Resource
from commonplace.retention import RetentionRule, Sweep, delete_from_table
from commonplace.rooms.knowledge import evidence, model, store
from commonplace.rooms.knowledge.recall import note_shown_documents, prepared_question, recall_items
from commonplace.rooms.knowledge.replacement import find_later_documents
from commonplace.rooms.knowledge.results import cut_excerpt, explain_match
from commonplace.rooms.specs.readers import list_spec_updates
from commonplace.search.query import EntryFilter
from commonplace.search.score import Question
from commonplace.search.source import EntryUse, SearchItem, SearchSource
from commonplace.search.text import tokenize
from commonplace.store import ids
from commonplace.store.database import Row, Tx, Work
from commonplace.store.shared_reads import run_together

_LEARNING_TYPES = ("learning", "gotcha", "solution")
_PATTERN_TYPES = ("pattern", "architecture", "adr", "component", "config", "code_snippet")
_TYPES_IN_PATTERNS = frozenset(_PATTERN_TYPES) - {"pattern"}
_DECISION_TYPES = frozenset({"adr", "architecture"})
_MAX_OFFERS = 5
_SNIPPET_BYTES = 240
_MAX_FILES = 20
_MAX_NEWS = 3
_MAX_AGENT_NAMES = 500
_MAX_LISTED = 50
_MAX_USE_BONUS = 0.1
_USES_FOR_FULL_BONUS = 50
_EVIDENCE_PENALTIES = {"drifted": 0.2, "gone": 0.5}


# What a reader must know before trusting a document.


def list_doubts(row: Row, broken: Row | None, later: str, outdated: str) -> tuple[str, ...]:
    """The warnings that do not depend on the time of now; `later` is the end of the chain of what replaced it."""
    replaced = f"replaced by {later or row['superseded_by']}" if later or row["superseded_by"] else ""
    changed = f"evidence {broken['state']}: {broken['place']}" if broken else ""
    return tuple(doubt for doubt in (replaced, outdated, changed, warn_of_instructions(row)) if doubt)


def warn_of_instructions(row: Row) -> str:
    return INSTRUCTIONS_WARNING if "instruction_like" in store.decode_texts(row["flags"]) else ""


def _build_warning(row: Row, broken: Row | None, now: int, later: str = "", outdated: str = "") -> str | None:
    status = model.resolve_status(row["status"], row["expires_at"], now)
    return model.format_warning(status, row["changed_at"], now, *list_doubts(row, broken, later, outdated))


# Search.


async def record_uses(tx: Tx, uses: Sequence[EntryUse]) -> None:
    for project in sorted({use.project for use in uses}):
        project_uses = [use for use in uses if use.project == project]
        for column, opened in (("opened", True), ("recalled", False)):
            counted = [use.id for use in project_uses if use.opened is opened]
            await store.increment_use_counts(tx, project, column, counted)
        await store.record_served_documents(tx, project_uses)


async def load_searched_documents(tx: Tx, project: str, ids: Sequence[str]) -> list[SearchItem]:
    rows = await store.load_documents(tx, project, ids)
    texts = {row["id"]: row["content"] for row in rows.values()}
    works: list[Work[Any]] = [
        partial(evidence.find_broken_citations, project=project, documents=list(rows)),
        partial(find_later_documents, project=project, documents=list(rows)),
        partial(find_outdated_citations, project=project, texts=texts),
    ]
    broken, later, outdated = await run_together(tx, works)
    return [
        _build_search_item(
            {**row, "broken": broken.get(row["id"])}, later.get(row["id"], ""), outdated.get(row["id"], "")
        )
        for row in rows.values()
    ]


def _build_search_item(row: Row, later: str, outdated: str) -> SearchItem:
    """The bonus for use is a tenth of a standard deviation at most; broken evidence costs more."""
    bonus = _MAX_USE_BONUS * min(1.0, row["opened"] / _USES_FOR_FULL_BONUS)
    return SearchItem(
        id=row["id"],
        title=row["title"],
        text=row["content"],
        type=row["type"],
        status=row["status"],
        author=row["author"],
        tags=tuple(store.decode_texts(row["tags"])),
        files=tuple(store.decode_texts(row["files"])),
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        changed_at=row["changed_at"],
        expires_at=row["expires_at"],
        doubts=list_doubts(row, row["broken"], later, outdated),
        bonus=bonus - (_EVIDENCE_PENALTIES[row["broken"]["state"]] if row["broken"] else 0),
        later=later,
        row=row,
    )


SEARCH_SOURCE = SearchSource(
    kind=store.DOCUMENT_KIND, load=load_searched_documents, used=record_uses, goes_stale=True
)


# Documents by their id, and as resources.


async def find_document(call: Call, project: str, prefix: str) -> dict[str, Any] | None:
    ids_found = await ids.find_ids_by_prefix(call.tx, "document", [project], prefix)
    row = await store.load_document(call.tx, *ids_found[0]) if ids_found else None
    if row is None:
        return None
    listed = await store.list_document_versions(call.tx, project, row["id"], row["version"])
    cites = await evidence.list_citations_of_document(call.tx, project, row["id"])
    broken = await evidence.find_broken_citations(call.tx, project, [row["id"]])
    last = (await find_later_documents(call.tx, project, [row["id"]])).get(row["id"], "")
    later = "" if row["superseded_by"] else last
    outdated = await find_outdated_citations(call.tx, project, {row["id"]: row["content"]})
    places = {each["place"] for each in cites}
    links = {
        "later": later,
        "superseded_by": row["superseded_by"],
        "derived_from": [each for each in store.decode_texts(row["derived_from"]) if each != later],
        "cites": [{"place": each["place"], "state": each["state"]} for each in cites],
        "files": [file for file in store.decode_texts(row["files"]) if file not in places],
    }
    return {
        "id": row["id"],
        "title": row["title"],
        "type": row["type"],
        "status": model.resolve_status(row["status"], row["expires_at"], call.now),
        "project": project,
        "tags": store.decode_texts(row["tags"]),
        "created": iso(row["created_at"]),
        "updated": iso(row["updated_at"]),
        "author": row["author"],
        "content": row["content"],
        "expires_at": iso(row["expires_at"]) if row["expires_at"] else "",
        "versions": [model.render_version(each) for each in listed],
        "version": row["version"],
        "version_count": model.count_unlisted_versions(row["version"], listed),
        "interface": model.render_interface(row),
        "links": {name: value for name, value in links.items() if value},
        "warning": _build_warning(row, broken.get(row["id"]), call.now, last, outdated.get(row["id"], "")),
    }


FINDERS = {"doc_": find_document}


class DocumentTitle(Reply):
    id: str
    title: str
    type: str


class DocumentListing(Reply):
    documents: list[DocumentTitle]


@operation("resource:memory", role="readonly", session=False)
async def read_document(call: Call, doc_id: model.DocumentId) -> model.StoredItem:
    """A document of any project that the caller sees, or of shared knowledge."""
    visible = [name for name in await list_all_project_names(call.tx) if call.caller.sees_project(name)]
    where = await ids.find_ids_by_prefix(call.tx, "document", list({*visible, SHARED}), doc_id)
    document = await find_document(call, *where[0]) if where else None
    if document is None:
        raise errors.NotFound(f"There is no document '{doc_id}'.")
    call.project = document["project"]
    note_shown_documents(call, [(call.project, document["id"])], opened=True)
    fields = {name: document[name] for name in model.StoredItem.__struct_fields__ if name in document}
    return model.StoredItem(found=True, **fields)


@operation("resource:knowledge", role="readonly", session=False)
async def read_knowledge(call: Call, project: str) -> DocumentListing:
    """The newest active documents of the project."""
    rows = await store.list_newest_documents(call.tx, project, call.now, _MAX_LISTED)
    return DocumentListing(
        documents=[DocumentTitle(id=row["id"], title=row["title"], type=row["type"]) for row in rows]
    )


DOCUMENT = Resource(
    "memory://{doc_id}",
    "A document of the team's memory",
    read_document,
    full_ids=lambda reply: {"doc_id": reply.id},
)
KNOWLEDGE = Resource("knowledge://{project}", "The newest documents of a project", read_knowledge)
DOCUMENT_STORED = EventType("DocumentStored", KNOWLEDGE, item_resource=DOCUMENT)
DOCUMENT_CHANGED = EventType("DocumentChanged", KNOWLEDGE, item_resource=DOCUMENT)
DOCUMENTS_CHANGED = EventType("DocumentsChanged", KNOWLEDGE, item_resource=DOCUMENT)


# The boot sections.


@dataclass(frozen=True, slots=True)
class _Offer:
    row: Row
    broken: Row | None
    why: str
    question: str
    part: int = 0

    def render_entry(self, now: int, snippet_bytes: int) -> dict[str, Any]:
        """With the best passage; of a decision its beginning, which tells what was decided."""
        row, warning = self.row, _build_warning(self.row, self.broken, now)
        question, part = ("", 0) if row["type"] in _DECISION_TYPES else (self.question, self.part)
        return {
            "id": row["id"],
            "title": row["title"],
            **({"type": row["type"]} if row["type"] in _TYPES_IN_PATTERNS else {}),
            "snippet": cut_excerpt(row["content"], question, part, snippet_bytes),
            "author": row["author"],
            "age": format_age(row["changed_at"], now),
        } | {name: text for name, text in (("why", self.why), ("warning", warning)) if text}


async def prepare_topic(calls: Calls, arguments: Any, _caller: Caller) -> Question:
    """The `prepare` of an operation that returns a boot pack: what its task is about."""
    return await calls.search.build_question(remove_process_words(arguments["task_description"]))


async def _ask_for_topic(call: Call, start: StartingSession) -> Question:
    """The prepared question; names of agents do not count as its words."""
    topic = remove_process_words(start.task)
    if not topic:
        return Question("")
    names = await store.list_agent_names(call.tx, start.project, _MAX_AGENT_NAMES)
    words = remove_process_words(topic, names)
    return replace(prepared_question(call, topic), text=words) if tokenize(words) else Question("")


async def _choose_offers(call: Call, start: StartingSession, types: Sequence[str]) -> list[dict[str, Any]]:
    """Documents about the task: none if none is. Without a task, what is about the agent's last work, and what is new."""
    limit = start.scale_limit(_MAX_OFFERS)
    topic = await _ask_for_topic(call, start)
    offers = await _find_offers(call, topic, types, limit, "")
    if not topic.text:
        offers = await _find_offers(
            call, Question(_describe_last_work(start)), types, limit, "your last work; "
        )
        known = {offer.row["id"] for offer in offers}
        newest = await _list_newest_offers(call, start, types, limit)
        offers = [*offers, *(offer for offer in newest if offer.row["id"] not in known)][:limit]
    note_shown_documents(call, [(each.row["project"], each.row["id"]) for each in offers], opened=False)
    return [each.render_entry(call.now, start.scale_limit(_SNIPPET_BYTES)) for each in offers]


async def _find_offers(
    call: Call, question: Question, types: Sequence[str], limit: int, reason: str
) -> list[_Offer]:
    """Leaves out what is doubtful and what reads like instructions, because nobody asked for these documents."""
    if not question.text.strip():
        return []
    entry_filter = EntryFilter(call.now, (store.DOCUMENT_KIND,), tuple(types))
    projects = call.list_read_projects(include_shared=True)
    recalled = await recall_items(call, question, projects, entry_filter, 2 * limit)
    return [
        _Offer(each.row, each.broken, reason + explain_match(each, question), question.text, each.hit.part)
        for each in recalled.items
        if not each.is_doubtful and not warn_of_instructions(each.row)
    ][:limit]


async def _list_newest_offers(
    call: Call, start: StartingSession, types: Sequence[str], limit: int
) -> list[_Offer]:
    """The newest since the agent's last session began; to an agent that was not here before everything is new."""
    since, most = (0, limit) if start.previous_start is None else (start.previous_start, _MAX_NEWS)
    rows = await store.list_newest_of_types(call.tx, start.project, call.now, types, most, since)
    broken = await evidence.find_broken_citations(call.tx, start.project, [row["id"] for row in rows])
    return [_Offer(row, broken.get(row["id"]), "recent", "") for row in rows]


def _describe_last_work(start: StartingSession) -> str:
    """The titles of the last handoff, work item and open work, and the names of their files."""
    left = [row for row in (start.handoff, start.work) if row]
    files = dict.fromkeys(file for row in left for file in store.decode_texts(row["files"]))
    titles = dict.fromkeys((*(row["title"] for row in left), *start.open_titles))
    stems = (evidence.extract_file_stem(file) for file in list(files)[:_MAX_FILES])
    return " ".join((remove_process_words(" ".join(titles), (start.agent,)), *stems))


def _offer_types(types: Sequence[str]) -> Callable[[Call, StartingSession], Awaitable[list[dict[str, Any]]]]:
    return lambda call, start: _choose_offers(call, start, types)


async def list_interface_updates(call: Call, start: StartingSession) -> list[dict[str, Any]]:
    since = start.previous_start or call.now - 7 * DAY
    rows = await store.list_changed_interfaces(call.tx, start.project, call.now, since, _MAX_OFFERS)
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


LEARNINGS_SECTION = BootSection("learnings", 25, _offer_types(_LEARNING_TYPES))
PATTERNS_SECTION = BootSection("patterns", 60, _offer_types(_PATTERN_TYPES))
INTERFACE_UPDATES_SECTION = BootSection("interface_updates", 55, list_interface_updates)


# Retention, and agents that get another name.


async def _find_due_projects(tx: Tx, projects: Sequence[str], before: int, limit: int) -> set[str]:
    return await store.list_projects_with_expired_documents(tx, projects, before, limit)


async def _mark_documents(tx: Tx, batch: Sweep) -> int:
    return await store.mark_expired_documents(tx, batch.project, batch.now, batch.limit)


async def _count_documents(tx: Tx, batch: Sweep) -> int:
    return await store.count_expired_documents(tx, batch.project, batch.now)


EXPIRED_DOCUMENTS = RetentionRule(
    kind="expired_documents", find_due=_find_due_projects, sweep=_mark_documents, count=_count_documents
)
SERVED_DOCUMENTS = delete_from_table(
    "served", kind="served_documents", key=("session", "document"), setting="notice_days"
)


async def move_handoffs(tx: Tx, rename: AgentRename) -> None:
    """Handoffs go with an agent; other documents keep the name of their author at the time."""
    if rename.moves_agent:
        await tx.run(
            "update document set author = $3, row_hash = null where project = $1 and type = 'handoff' and author = $2",
            rename.project,
            rename.old,
            rename.new,
        )
