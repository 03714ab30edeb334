"""What holds when documents end, replace each other and come back."""

from collections.abc import Sequence

from commonplace import errors
from commonplace.call import Call
from commonplace.rooms.knowledge import model, store
from commonplace.store import ids
from commonplace.store.database import Row

_MAX_SUCCESSORS = 100


async def resolve_successor(call: Call, identity: str, given: str) -> str:
    """The whole id of what replaces a document: another one, here or in shared knowledge, that it does not replace."""
    projects = call.list_read_projects(include_shared=True)
    found = await ids.find_ids_by_prefix(call.tx, "document", projects, given)
    if not found:
        raise errors.NotFound(
            f"There is no document '{given}'.", hint="superseded_by is the id of a document."
        )
    if found[0][1] == identity:
        raise errors.Invalid(
            "A document cannot replace itself.", hint="superseded_by names another document."
        )
    await _refuse_cycle(call, projects, identity, found[0][1])
    return found[0][1]


async def _refuse_cycle(call: Call, projects: Sequence[str], identity: str, after: str) -> None:
    following = after
    for _ in range(_MAX_SUCCESSORS):
        found = await ids.find_ids_by_prefix(call.tx, "document", list(projects), following)
        row = await store.load_document(call.tx, *found[0]) if found else None
        following = row["superseded_by"] if row else ""
        if following == identity:
            raise errors.Conflict(
                f"{after} is itself replaced by {identity}.",
                hint=f"Set {after} active first, if it is the one that holds.",
                id=after,
            )
        if not following:
            return


async def refuse_active_duplicate(call: Call, row: Row) -> None:
    """A document that comes back must not say what an active one says already."""
    if model.resolve_status(row["status"], row["expires_at"], call.now) == "active":
        return
    projects = call.list_read_projects(include_shared=True)
    twin = await store.find_identical_document(
        call.tx, projects, row["title"], row["content"], call.now, but=row["id"]
    )
    if twin is not None:
        raise errors.Duplicate(
            "An active document says this already, word for word.",
            hint="Use that one, or archive it first.",
            id=twin["id"],
        )


async def restore_documents(
    call: Call, rows: Sequence[Row], tag: str
) -> tuple[list[Row], list[dict[str, str]]]:
    """Each gets its former status, but for those whose text is active elsewhere: what was done, and what was not."""
    done: list[Row] = []
    doubled: list[dict[str, str]] = []
    digests = [store.compute_digest(row["title"], row["content"]) for row in rows]
    active = await store.find_identical_ids(
        call.tx, call.list_read_projects(include_shared=True), digests, call.now
    )
    for row, digest in zip(rows, digests, strict=True):
        if row["former"] != "active" or active.setdefault(digest, row["id"]) == row["id"]:
            done.append(row)
        else:
            doubled.append({"id": row["id"], "title": row["title"], "duplicate_of": active[digest]})
    told = f"restored with the tag {tag}"
    await store.update_document_statuses(
        call.tx, done, [row["former"] for row in done], call.agent, told, call.now
    )
    return done, doubled
