"""Rules for documents that are replaced, archived and restored."""

from collections.abc import Sequence

from commonplace import errors
from commonplace.call import Call
from commonplace.rooms.knowledge import model, store
from commonplace.rooms.knowledge.citing_documents import Replacement, announce_replacement
from commonplace.rooms.knowledge.events import DOCUMENT_CHANGED
from commonplace.store import ids
from commonplace.store.counters import lock_project
from commonplace.store.database import Row

_MAX_SUCCESSORS = 100


async def resolve_successor(call: Call, identity: str, prefix: str) -> str:
    """The full id of the document that replaces this one; refuses itself and cycles."""
    projects = call.list_read_projects(include_shared=True)
    matches = await ids.find_ids_by_prefix(call.tx, "document", projects, prefix)
    if not matches:
        raise errors.NotFound(
            f"There is no document '{prefix}'.", hint="Set superseded_by to the id of an existing document."
        )
    if matches[0][1] == identity:
        raise errors.Invalid(
            "A document cannot replace itself.", hint="Set superseded_by to the id of another document."
        )
    await _refuse_cycle(call, projects, identity, matches[0][1])
    return matches[0][1]


async def _refuse_cycle(call: Call, projects: Sequence[str], identity: str, after: str) -> None:
    following = after
    for _ in range(_MAX_SUCCESSORS):
        matches = await ids.find_ids_by_prefix(call.tx, "document", list(projects), following)
        row = await store.load_document(call.tx, *matches[0]) if matches else None
        following = row["superseded_by"] if row else ""
        if following == identity:
            raise errors.Conflict(
                f"{after} is itself replaced by {identity}.",
                hint=f"If {after} is the valid one, set its status to active first.",
                id=after,
            )
        if not following:
            return


async def load_superseded(call: Call, doc_id: str) -> Row:
    """The document that the text of this call replaces; nobody else changes it until this call is over."""
    await lock_project(call.tx, call.project, "documents")
    row = await store.load_document(
        call.tx, call.project, await ids.resolve_id(call.tx, "document", call.project, doc_id)
    )
    if row is None:
        raise errors.NotFound(
            f"There is no document '{doc_id}'.", hint="Set supersedes to the id of an existing document."
        )
    return row


async def supersede_document(call: Call, row: Row, successor: str) -> Replacement:
    """Retire the document for the other; return what cites it and may be outdated."""
    await _refuse_cycle(call, [call.project], row["id"], successor)
    await store.delete_archive_marks(call.tx, row)
    await store.update_document_statuses(call.tx, [row], ["superseded"], call.agent, "", call.now, successor)
    call.emit(DOCUMENT_CHANGED, id=row["id"], status="superseded")
    return await announce_replacement(call, row["id"], successor)


async def refuse_active_duplicate(call: Call, row: Row) -> None:
    """Refuse to reactivate a document if an active one has the same text."""
    if model.resolve_status(row["status"], row["expires_at"], call.now) == "active":
        return
    projects = call.list_read_projects(include_shared=True)
    digest = store.compute_digest(row["title"], row["content"])
    twin = await call.tx.one(*store.identical_document_statement(projects, digest, call.now, but=row["id"]))
    if twin is not None:
        raise errors.Duplicate(
            "An active document has the same text.",
            hint="Use that document, or archive it first.",
            id=twin["id"],
        )


async def restore_documents(
    call: Call, rows: Sequence[Row], tag: str
) -> tuple[list[Row], list[dict[str, str]]]:
    """Give each document its former status, except where an active one has the same text; return both lists."""
    restored: list[Row] = []
    duplicates: list[dict[str, str]] = []
    digests = [store.compute_digest(row["title"], row["content"]) for row in rows]
    active = await store.find_identical_ids(
        call.tx, call.list_read_projects(include_shared=True), digests, call.now
    )
    for row, digest in zip(rows, digests, strict=True):
        if row["former"] != "active" or active.setdefault(digest, row["id"]) == row["id"]:
            restored.append(row)
        else:
            duplicates.append({"id": row["id"], "title": row["title"], "duplicate_of": active[digest]})
    reason = f"restored with the tag {tag}"
    await store.update_document_statuses(
        call.tx, restored, [row["former"] for row in restored], call.agent, reason, call.now
    )
    return restored, duplicates
