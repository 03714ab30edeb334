"""Keep, share out and finish the work of a project."""

from typing import Annotated, Any

from commonplace import errors
from commonplace.call import Call
from commonplace.operation import Operation, also, operation
from commonplace.rooms.backlog import edits, model, store
from commonplace.rooms.backlog.model import Batched, Changed, Completed, Everywhere, Filters, Item, Listing
from commonplace.rooms.sessions.store import enter_project
from commonplace.store.ids import Id


@operation(
    "memory_add_backlog_item",
    writes=True,
    example={"title": "Cart loses items on reload", "priority": "high"},
)
async def add_backlog_item(
    call: Call,
    title: model.Title,
    description: model.Text = "",
    priority: model.Priority = "medium",
    project: str | None = None,
    assigned_to: model.Assignee | None = None,
    tags: model.Tags | None = None,
    milestone: Annotated[model.Milestone | None, also("target_version")] = None,
    deferred_reason: model.Short | None = None,
    depends_on: model.Needs | None = None,
) -> Changed:
    """Note work to do; depends_on must be done first."""
    home = call.scope(project)
    n = await edits.lock(call, home)
    await enter_project(call.tx, home, call.now)
    given = {
        "title": title,
        "description": description,
        "priority": priority,
        "assigned_to": assigned_to or "",
        "milestone": milestone or "",
        "deferred_reason": deferred_reason or "",
    }
    needs = await edits.needed_items(call, home, depends_on or [])
    row = await store.add(call.tx, home, n, given, tags or [], call.agent, call.now)
    if needs:
        await store.set_needs(call.tx, home, row["id"], needs)
    edits.tell(call, home, row["id"])
    call.subject = row["id"]
    return Changed.by("added", await edits.shown(call, row))


@operation("memory_list_backlog", role="readonly", example={"ready": True})
async def list_backlog(
    call: Call,
    project: model.EverywhereOr | None = None,
    status: model.Status | None = None,
    priority: model.Priority | None = None,
    assigned_to: model.Assignee | None = None,
    milestone: Annotated[model.Milestone | None, also("target_version")] = None,
    tag: model.Tag | None = None,
    ready: bool = False,
    include_done: bool = False,
    limit: model.Limit = 20,
    offset: model.Offset = 0,
) -> Listing:
    """Work by priority; ready = open, unblocked, free or yours. project `*` = all."""
    everywhere = isinstance(project, Everywhere)
    filters = Filters(
        projects=await edits.visible_projects(call) if everywhere else [call.project],
        status=status,
        priority=priority,
        assigned_to=assigned_to,
        milestone=milestone,
        tag=tag,
        ready_for=call.agent if ready else None,
        include_done=include_done,
    )
    rows, total = await store.search(call.tx, filters, limit, offset)
    needs = await store.needs(call.tx, filters.projects, [row["id"] for row in rows]) if rows else []
    after = offset + len(rows)
    return Listing(
        count=len(rows),
        total=total,
        items=[Item.of(row, needs, call.now).shortened for row in rows],
        next_offset=after if after < total else 0,
    )


@operation("memory_update_backlog_item", writes=True)
async def update_backlog_item(
    call: Call,
    item_id: Id,
    status: model.Status | None = None,
    priority: model.Priority | None = None,
    assigned_to: model.Assignee | None = None,
    title: model.Title | None = None,
    description: model.Text | None = None,
    milestone: Annotated[model.Milestone | None, also("target_version")] = None,
    deferred_reason: model.Short | None = None,
    project: str | None = None,
    depends_on: model.Needs | None = None,
    claim: bool = False,
    expected_version: int | None = None,
) -> Changed:
    """Change an item; claim takes a free one, assigned_to "" frees it."""
    target = call.scope(project) if project is not None else None
    given = {
        "status": status,
        "priority": priority,
        "assigned_to": assigned_to,
        "title": title,
        "description": description,
        "milestone": milestone,
        "deferred_reason": deferred_reason,
    }
    wanted = {name: value for name, value in given.items() if value is not None}
    if not (wanted or claim or target or depends_on is not None):
        raise errors.Invalid("Nothing to change was given.", hint="Give a field of the item, or claim=true.")
    row = await edits.locked_item(call, item_id, expected_version)
    wanted |= edits.claimed(call, row) if claim else {}
    needs = await edits.needed_items(call, row["project"], depends_on) if depends_on is not None else None
    edited = await edits.edit(call, row, wanted, needs)
    await edits.unblocked(call, row, edited)
    moved = await edits.move(call, edited, target or row["project"])
    act = "updated" if moved["project"] == row["project"] else "moved"
    return Changed.by(act, await edits.shown(call, moved))


@operation("memory_complete_backlog_item", writes=True)
async def complete_backlog_item(
    call: Call, item_id: Id, resolution: model.Text | None = None, wont_do: bool = False
) -> Completed:
    """Close an item; who waited is told."""
    row = await edits.locked_item(call, item_id)
    if row["closed"]:
        raise errors.Conflict(
            f"{row['id']} is {row['status']} already, by {row['completed_by']}.",
            hint="Open it again with memory_update_backlog_item.",
            current=row["status"],
        )
    wanted = {"status": "wont_do" if wont_do else "done", "resolution": resolution or ""}
    closed = await edits.edit(call, row, wanted)
    return Completed(
        status=closed["status"],
        id=closed["id"],
        title=closed["title"],
        completed_by=closed["completed_by"],
        resolution=closed["resolution"],
        unblocked=await edits.unblocked(call, row, closed),
    )


_SINGLE: dict[model.Action, Operation] = {
    "create": add_backlog_item,
    "update": update_backlog_item,
    "complete": complete_backlog_item,
}


@operation(
    "memory_batch_backlog",
    writes=True,
    example={"action": "create", "items": [{"title": "One"}, {"title": "Two"}]},
)
async def batch_backlog(call: Call, action: model.Action, items: model.Batch) -> Batched:
    """One act on many items: all or none."""
    replies: list[Any] = []
    problems: list[dict[str, Any]] = []
    for index, given in enumerate(items):
        try:
            replies.append(await _one_of_many(call, _SINGLE[action], given))
        except errors.Unavailable:
            raise
        except errors.Refusal as refusal:
            problems.append({"index": index, **refusal.body()})
    if problems:
        raise errors.Invalid(
            f"{len(problems)} of {len(items)} items are wrong; nothing was changed.",
            hint="Correct these and send all of them again.",
            problems=problems,
        )
    call.subject = f"{action} {len(replies)}"
    return Batched(status="completed", action=action, count=len(replies), items=replies)


async def _one_of_many(call: Call, single: Operation, given: dict[str, Any]) -> Any:
    arguments = single.parse({**given, "session_id": call.own_session.id})
    del arguments["session_id"]
    return await single.function(call, **arguments)
