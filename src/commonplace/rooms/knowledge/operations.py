"""Operations on documents: search, read, store, change status. Writing: `drafts.py`, `writing.py`; ranking: `recall.py`."""

from collections.abc import Awaitable, Mapping, Sequence
from typing import Annotated, Any

import msgspec
from pydantic import Field

from commonplace import errors
from commonplace.access import ALL_PROJECTS, Caller
from commonplace.arguments import VersionNumber
from commonplace.call import Call, Calls
from commonplace.clock import DAY
from commonplace.operation import alias, operation
from commonplace.room import Finder
from commonplace.rooms.knowledge import model, replacement, store
from commonplace.rooms.knowledge.contributes import DOCUMENT_CHANGED, DOCUMENTS_CHANGED
from commonplace.rooms.knowledge.drafts import Draft, PreparedDraft, prepare_document
from commonplace.rooms.knowledge.recall import (
    Recall,
    note_shown_documents,
    prepared_question,
    recall_items,
    restrict_to_types,
)
from commonplace.rooms.knowledge.results import render_previews, render_results, truncate_question
from commonplace.rooms.knowledge.writing import write_document
from commonplace.search.engine import prepare_question
from commonplace.search.query import EntryFilter
from commonplace.store import ids
from commonplace.store.counters import lock_project
from commonplace.store.database import Row

_MAX_PROJECTS = 500
_NOTHING_FOUND = "Nothing relevant found."
_DOUBTFUL = "No close match: these may not answer the question."


@operation(
    "memory_query",
    role="readonly",
    prepare=prepare_question("query"),
    example={"query": "connection dropped when idle"},
    keywords="look up, recall, past decisions, why, lessons, known issues, gotchas",
)
async def query(
    call: Call,
    query: model.QueryText,
    project: str | None = None,
    memory_types: Annotated[model.RequestedTypes | None, Field(description="Such as learning, spec.")] = None,
    tags: model.DocumentTags | None = None,
    include_inactive: Annotated[bool, Field(description="Also deprecated, archived.")] = False,
    include_shared: bool = True,
    limit: model.ResultLimit = 3,
    updated_within_days: model.ExpiryDays | None = None,
    max_tokens: model.TokenBudget = 4000,
    detail: model.DetailLevel = "auto",
) -> model.QueryAnswer:
    """Search what the team knows: documents, learnings, specs, tasks. Use it before you start and whenever
    you are unsure."""
    entry_filter = EntryFilter(
        call.now,
        tags=tuple(tags or ()),
        inactive=include_inactive,
        changed_since=call.now - updated_within_days * DAY if updated_within_days else 0,
    )
    projects = call.list_read_projects(include_shared=include_shared)
    wanted = await restrict_to_types(call, entry_filter, projects, memory_types)
    question = prepared_question(call, query)
    # Global guidelines apply in every project.
    recall = await recall_items(call, question, [*projects, ALL_PROJECTS], wanted, limit)
    message = _describe_recall(recall)
    results = render_results(call, recall.items, question, detail, max_tokens, message)
    _note_shown_results(call, [(result.kind, result.source, result.id) for result in results])
    return model.QueryAnswer(
        query=truncate_question(query, max_tokens),
        result_count=len(results),
        results=results,
        more_matches=recall.more_matches + len(recall.items) - len(results),
        message=message,
        nearest_titles=[]
        if results
        else [truncate_question(title, max_tokens) for title in recall.nearest_titles],
    )


def _describe_recall(recall: Recall) -> str:
    """What the results alone do not say."""
    if not recall.items:
        return _NOTHING_FOUND
    return _DOUBTFUL if all(each.is_doubtful for each in recall.items) else ""


def _note_shown_results(call: Call, results: Sequence[tuple[str, str, str]]) -> None:
    documents = [(project, identity) for kind, project, identity in results if kind == store.DOCUMENT_KIND]
    note_shown_documents(call, documents, opened=False)


@operation(
    "memory_get_by_id",
    role="readonly",
    example={"doc_id": "doc_000000000000"},
    keywords="open, full text, whole content, details, file",
)
async def get_by_id(
    call: Call,
    doc_id: Annotated[model.ItemId, alias("id")],
    project: str | None = None,
    version: VersionNumber | None = None,
) -> model.StoredItem:
    """Show one thing in full by its id: document, message, item, spec, function."""
    scopes = (*call.list_read_projects(include_shared=project is None), ALL_PROJECTS)
    if found := await find_item(call, scopes, doc_id, version):
        return found
    hint = "Pass the project of the search result that named the id, or find it with memory_query."
    if not _list_finders(call, doc_id):
        prefixes = dict.fromkeys(prefix for prefix, _ in call.catalogue.finders if prefix)
        hint = f"Ids begin with one of: {', '.join(prefixes)}."
    return model.StoredItem(
        found=False, id=doc_id, message=f"There is no such id in '{call.project}' that you may read. {hint}"
    )


async def find_item(
    call: Call, scopes: Sequence[str], item_id: str, version: int | None = None
) -> model.StoredItem | None:
    """The item of any room with this id in the first of these projects that has it."""
    for scope in scopes:
        for prefix, finder in _list_finders(call, item_id):
            if item := await finder(call, scope, item_id):
                if prefix == "doc_":
                    note_shown_documents(call, [(scope, item["id"])], opened=True)
                return await _build_item(call, item, version)
    return None


def _list_finders(call: Call, item_id: str) -> list[tuple[str, Finder]]:
    return [(prefix, finder) for prefix, finder in call.catalogue.finders if item_id.startswith(prefix)]


async def _build_item(call: Call, fields: Mapping[str, Any], version: int | None) -> model.StoredItem:
    item = model.StoredItem(
        found=True, **{name: fields[name] for name in model.StoredItem.__struct_fields__ if name in fields}
    )
    if version is None:
        return item
    versions = await store.list_document_versions(call.tx, item.project, item.id, version)
    text = await store.find_version_text(call.tx, item.project, item.id, version)
    if text is None or versions[0]["version"] != version:
        raise errors.NotFound(f"{item.id} has no version {version}.", hint="Choose one from `versions`.")
    item.title, item.content, item.status = text["title"], text["content"], versions[0]["status"]
    item.versions = [model.render_version(each) for each in versions]
    item.version_count = model.count_unlisted_versions(fields["version"], versions)
    return item


def _prepare_store(calls: Calls, arguments: Mapping[str, Any], caller: Caller) -> Awaitable[PreparedDraft]:
    schema = arguments["interface_schema"]
    draft = Draft(
        arguments["memory_type"],
        arguments["title"],
        arguments["content"],
        tuple(arguments["tags"] or ()),
        tuple(arguments["files_related"] or ()),
        model.compute_expiry(arguments["memory_type"], arguments["expires_in_days"], calls.clock()),
        arguments["interface_name"] or "",
        arguments["interface_version"] or "",
        arguments["interface_owner"] or "",
        msgspec.json.encode(schema).decode() if schema else "",
    )
    return prepare_document(calls, arguments, caller, draft, may_rewrite=arguments["force_store"])


@operation(
    "memory_store",
    writes=True,
    prepare=_prepare_store,
    example={
        "title": "Session cookies",
        "content": "Cookies are signed with HMAC.",
        "memory_type": "architecture",
    },
    verbatim=("title", "content"),
    keywords="save, write, share knowledge, ADR, architecture, design note, fact",
)
async def store_document(
    call: Call,
    title: model.DocumentTitle,
    content: model.DocumentContent,
    memory_type: Annotated[model.StoredType, alias("doc_type")],
    project: str | None = None,
    tags: model.DocumentTags | None = None,
    files_related: model.CitedPlaces | None = None,
    interface_name: model.InterfaceText | None = None,
    interface_version: model.InterfaceText | None = None,
    interface_owner: model.InterfaceText | None = None,
    interface_schema: dict[str, Any] | None = None,
    expires_in_days: model.ExpiryDays | None = None,
    force_store: Annotated[bool, Field(description="New version of this title.")] = False,
    supersedes: Annotated[model.NamedDocument | None, Field(description="Id, number or title.")] = None,
) -> model.StoreReceipt:
    """Store a document for the team, such as a decision with its reasons. Use it for knowledge that others
    need later."""
    old = await replacement.load_superseded(call, supersedes, memory_type) if supersedes else None
    return await write_document(call, call.prepared, force=force_store, status="stored", superseded=old)


def _prepare_learning(calls: Calls, arguments: Mapping[str, Any], caller: Caller) -> Awaitable[PreparedDraft]:
    draft = Draft(
        "learning",
        arguments["topic"],
        arguments["content"],
        tuple(arguments["tags"] or ()),
        tuple(arguments["files_related"] or ()),
        model.compute_expiry("learning", None, calls.clock()),
    )
    return prepare_document(calls, arguments, caller, draft)


@operation(
    "memory_record_learning",
    writes=True,
    prepare=_prepare_learning,
    example={"topic": "PgBouncer", "content": "It closes idle server connections after ten minutes."},
    verbatim=("topic", "content"),
    keywords="gotcha, pitfall, warning, insight, tip, bug, root cause",
)
async def record_learning(
    call: Call,
    topic: Annotated[model.DocumentTitle, alias("title")],
    content: Annotated[model.DocumentContent, alias("details")],
    project: str | None = None,
    tags: model.DocumentTags | None = None,
    files_related: model.CitedPlaces | None = None,
    supersedes: model.NamedDocument | None = None,
) -> model.StoreReceipt:
    """Remember a lesson for the team. Use it when something surprised you or took long."""
    old = await replacement.load_superseded(call, supersedes, "learning") if supersedes else None
    return await write_document(call, call.prepared, force=False, status="recorded", superseded=old)


@operation(
    "memory_search_global",
    role="readonly",
    prepare=prepare_question("query"),
    example={"query": "retry with backoff"},
    keywords="everything, across repositories, other teams, already solved, transcripts, files",
)
async def search_global(
    call: Call,
    query: model.QueryText,
    memory_types: model.RequestedTypes | None = None,
    limit: model.ResultLimit = 10,
) -> model.GlobalAnswer:
    """Search all projects that you may see. Use it when your own project has no answer."""
    projects = await store.list_indexed_projects(call.tx, _MAX_PROJECTS)
    wanted = await restrict_to_types(call, EntryFilter(call.now), projects, memory_types)
    question = prepared_question(call, query)
    recall = await recall_items(call, question, projects, wanted, limit, candidates=2 * limit)
    results = render_previews(call, recall.items, query)
    _note_shown_results(call, [(result.kind, result.project, result.id) for result in results])
    return model.GlobalAnswer(
        query=query,
        result_count=len(results),
        results=results,
        more_matches=recall.more_matches,
        message=_describe_recall(recall),
        nearest_titles=[] if results else recall.nearest_titles,
    )


@operation(
    "memory_change_status",
    writes=True,
    idempotent=True,
    example={"doc_id": "doc_000000000000", "new_status": "deprecated"},
    keywords="mark memory outdated, obsolete, wrong, out of date, replaced, retire, remove decision",
)
async def change_status(
    call: Call,
    doc_id: Annotated[model.DocumentId, Field(description="Or its first 8 characters.")],
    new_status: model.DocumentStatus,
    project: str | None = None,
    superseded_by: Annotated[model.DocumentId | None, Field(description="Document id.")] = None,
    reason: model.StatusReason | None = None,
) -> model.StatusChanged:
    """Change the status of a document: deprecated, superseded, disputed, active. Use it when one is no
    longer valid."""
    await lock_project(call.tx, call.project, "documents")
    identity = await ids.resolve_id(call.tx, "document", call.project, doc_id)
    row = await store.load_document(call.tx, call.project, identity)
    if row is None:
        raise errors.NotFound(f"There is no document '{doc_id}'.")
    successor = await replacement.resolve_successor(call, identity, superseded_by) if superseded_by else ""
    if new_status == "active":
        await replacement.refuse_active_duplicate(call, row)
    await store.delete_archive_marks(call.tx, row)
    if row["status"] != new_status or successor:
        await store.update_document_statuses(
            call.tx, [row], [new_status], call.agent, reason or "", call.now, successor
        )
    old_status = model.resolve_status(row["status"], row["expires_at"], call.now)
    if new_status == "active" and model.resolve_status("active", row["expires_at"], call.now) == "expired":
        await store.update_document_expiry(call.tx, row, model.compute_expiry(row["type"], None, call.now))
    call.subject = f"{identity} {old_status} -> {new_status}"
    is_changed = old_status != new_status or bool(successor)
    if is_changed:
        call.emit(DOCUMENT_CHANGED, id=identity, status=new_status)
    told = (
        await replacement.announce_replacement(call, identity, successor)
        if successor
        else replacement.Replacement([], [])
    )
    return model.StatusChanged(
        status="updated",
        doc_id=identity,
        old_status=old_status,
        new_status=new_status,
        superseded_by=successor,
        cited_by=told.cited_by,
        notified=told.notified,
        message="" if is_changed else f"Nothing changed: it was {new_status} already.",
    )


@operation(
    "memory_archive_by_tag",
    writes=True,
    idempotent=True,
    example={"tag": "sprint-12"},
    keywords="hide, clean up old, label",
)
async def archive_by_tag(
    call: Call, tag: model.Tag, reason: model.StatusReason | None = None, project: str | None = None
) -> model.TagChange:
    """Archive all documents that have a tag."""
    await lock_project(call.tx, call.project, "documents")
    rows = await store.list_documents_by_tag(call.tx, call.project, tag)
    await store.insert_archived_documents(call.tx, tag, rows, call.now)
    status_reason = reason or f"archived with the tag {tag}"
    await store.update_document_statuses(
        call.tx, rows, ["archived"] * len(rows), call.agent, status_reason, call.now
    )
    _emit_tag_change(call, tag, rows)
    return model.TagChange(status="completed", tag=tag, archived_count=len(rows), docs=_list_titles(rows))


@operation(
    "memory_restore_by_tag",
    writes=True,
    idempotent=True,
    example={"tag": "sprint-12"},
    keywords="unarchive, restore label",
)
async def restore_by_tag(call: Call, tag: model.Tag, project: str | None = None) -> model.TagChange:
    """Bring archived documents with a tag back."""
    await lock_project(call.tx, call.project, "documents")
    rows, duplicates = await replacement.restore_documents(
        call, await store.pop_archived_documents(call.tx, call.project, tag), tag
    )
    _emit_tag_change(call, tag, rows)
    return model.TagChange(
        status="completed",
        tag=tag,
        restored_count=len(rows),
        docs=_list_titles(rows),
        still_archived=duplicates,
    )


def _emit_tag_change(call: Call, tag: str, rows: Sequence[Row]) -> None:
    call.subject = f"{len(rows)} documents tagged {tag}"
    if rows:
        call.emit(DOCUMENTS_CHANGED, tag=tag, count=len(rows), ids=[row["id"] for row in rows])


def _list_titles(rows: Any) -> list[dict[str, str]]:
    return [{"id": row["id"], "title": row["title"]} for row in rows[:20]]
