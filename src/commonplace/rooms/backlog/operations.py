"""Add, list, update and complete backlog items, one at a time or in a batch. Rules of a change: `edits.py`."""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Annotated, Any

import msgspec
from pydantic import Field, WithJsonSchema

from commonplace import errors
from commonplace.arguments import ProjectOrAll, VersionNumber
from commonplace.call import Call
from commonplace.operation import Operation, alias, operation
from commonplace.project import ensure_project, list_asked_projects
from commonplace.rooms.backlog import claims, edits, model, store
from commonplace.rooms.backlog.contributes import BACKLOG_CHANGED, build_entry, list_entries
from commonplace.rooms.backlog.model import (
    BacklogAction,
    BacklogFilters,
    BacklogListing,
    BatchReply,
    ChangedItem,
    CompletedItem,
)
from commonplace.rooms.work.item_store import find_work_of_item
from commonplace.search.engine import prepare_words
from commonplace.store.database import Row
from commonplace.store.ids import Id
from commonplace.suggestions import may_name_others, suggest_names


@operation(
    "memory_add_backlog_item",
    writes=True,
    prepare=prepare_words("description"),
    example={"title": "Cart loses items on reload", "priority": "high"},
    keywords="todo, ticket, issue, feature request, report bug, defect, track",
)
async def add_backlog_item(
    call: Call,
    title: model.ItemTitle,
    description: model.ItemText = "",
    priority: model.BacklogPriority = "medium",
    project: str | None = None,
    assigned_to: Annotated[model.Assignee | None, Field(description="Agent.")] = None,
    tags: model.BacklogTags | None = None,
    milestone: Annotated[model.Milestone | None, alias("target_version")] = None,
    deferred_reason: model.DeferredReason | None = None,
    depends_on: model.Dependencies | None = None,
    claim: Annotated[bool, Field(description="Take it at once.")] = False,
) -> ChangedItem:
    """Add a task to the backlog. Use it for work that is not done now, or for another agent."""
    target_project = call.resolve_project(project)
    item_number = await edits.lock_backlog(call, target_project)
    await ensure_project(call.tx, target_project, call.now)
    fields = {
        "title": title,
        "description": description,
        "priority": priority,
        "assigned_to": assigned_to or "",
        "milestone": milestone or "",
        "deferred_reason": deferred_reason or "",
        "tags": tags or [],
    }
    dependencies = await edits.resolve_dependencies(call, target_project, depends_on or [])
    row = await store.insert_item(call.tx, target_project, item_number, fields, call.agent, call.now)
    if dependencies:
        await store.replace_dependencies(call.tx, target_project, row["id"], dependencies)
    effects = await edits.notify_assignees(call, "", row)
    call.index_new(build_entry(row))
    call.emit(BACKLOG_CHANGED, project=target_project, id=row["id"])
    call.subject = row["id"]
    item = await edits.render_item(call, row)
    reply = ChangedItem.from_item("added", item, fields, row["status"], call.agent, effects)
    return await _claim_added(call, reply, {"claim": True}) if claim else reply


async def _claim_added(call: Call, added: ChangedItem, claim: dict[str, Any]) -> ChangedItem:
    """Claim an item that this call has added, by the rules of every claim."""
    claimed: ChangedItem = await update_backlog_item.function(call, item_id=added.id, **claim)
    return msgspec.structs.replace(added, **{name: getattr(claimed, name) for name in _CLAIMED_FIELDS})


@operation(
    "memory_list_backlog",
    role="readonly",
    example={"ready": True},
    keywords="backlog, todo, tickets, issues, bugs, kanban board, pick up",
)
async def list_backlog(
    call: Call,
    project: Annotated[ProjectOrAll | None, Field(description="`*`: all.")] = None,
    status: model.BacklogStatus | None = None,
    priority: model.BacklogPriority | None = None,
    assigned_to: Annotated[model.Assignee | None, Field(description="Agent.")] = None,
    milestone: Annotated[model.Milestone | None, alias("target_version")] = None,
    tag: model.BacklogTag | None = None,
    ready: Annotated[bool, Field(description="Open, unblocked, free or yours.")] = False,
    include_done: bool = False,
    limit: model.BacklogLimit = 20,
    offset: model.BacklogOffset = 0,
) -> BacklogListing:
    """List tasks by state, priority, tag or agent. Use it to find what to do next."""
    projects = await list_asked_projects(call.tx, call.caller, project, call.project)
    filters = BacklogFilters(
        now=call.now,
        status=status,
        priority=priority,
        assigned_to=assigned_to,
        milestone=milestone,
        tag=tag,
        ready_for=call.agent if ready else None,
        include_done=include_done,
    )
    rows, total = await store.find_items(call.tx, projects, filters, limit, offset)
    closed = Counter[str]()
    for each in projects if filters.hides_closed else ():
        closed.update(await store.count_closed_items(call.tx, each, assigned_to))
    next_offset = offset + len(rows)
    return BacklogListing(
        count=len(rows),
        total=total,
        items=await list_entries(call, rows),
        next_offset=next_offset if next_offset < total else 0,
        **closed,
    )


@operation(
    "memory_update_backlog_item",
    writes=True,
    prepare=prepare_words("description"),
    keywords="take, grab, pick up, edit ticket, issue, todo, raise priority",
)
async def update_backlog_item(
    call: Call,
    item_id: Id,
    status: model.BacklogStatus | None = None,
    priority: model.BacklogPriority | None = None,
    assigned_to: Annotated[model.Assignee | None, Field(description='Agent; "" frees it.')] = None,
    title: model.ItemTitle | None = None,
    description: model.ItemText | None = None,
    note: model.ItemText | None = None,
    milestone: Annotated[model.Milestone | None, alias("target_version")] = None,
    deferred_reason: model.DeferredReason | None = None,
    project: str | None = None,
    depends_on: model.Dependencies | None = None,
    claim: Annotated[bool, Field(description="While you keep calling.")] = False,
    force: Annotated[bool, Field(description="Claim although blocked.")] = False,
    expected_version: Annotated[VersionNumber | None, Field(description="Else conflict.")] = None,
) -> ChangedItem:
    """Change, claim or assign a task. Claim it before you start on it."""
    target_project = call.resolve_project(project) if project is not None else None
    fields = {
        "status": status or ("deferred" if deferred_reason and not claim else None),
        "priority": priority,
        "assigned_to": assigned_to,
        "title": title,
        "description": description,
        "milestone": milestone,
        "deferred_reason": deferred_reason,
    }
    edits_wanted = {name: value for name, value in fields.items() if value is not None}
    if not (edits_wanted or note or claim or target_project or depends_on is not None):
        raise errors.Invalid("There is nothing to change.", hint="Pass a field of the item, or claim=true.")
    row = await edits.load_locked_item(call, item_id, expected_version)
    added = model.append_note({**row, **edits_wanted}["description"], call.agent, note) if note else {}
    claim_edits = await claims.require_claimable(call, row, force=force) if claim else {}
    dependencies = (
        await edits.resolve_dependencies(call, row["project"], depends_on) if depends_on is not None else None
    )
    edited, changes = await edits.edit_item(call, row, edits_wanted | added | claim_edits, dependencies)
    effects = await edits.announce_edit(call, row, edited, changes)
    moved = await edits.move_item(call, edited, target_project or row["project"])
    outcome = "updated" if moved["project"] == row["project"] else "moved"
    item = await edits.render_item(call, moved)
    reply = ChangedItem.from_item(
        outcome, item, edits_wanted, row["status"], call.agent, effects, is_claim=claim
    )
    if claim:
        await _name_work(call, reply, moved)
    return reply


async def _name_work(call: Call, reply: ChangedItem, row: Row) -> None:
    """Name the work of a claim, and its title if that is not the item's."""
    work = await find_work_of_item(call.tx, call.session, row["id"]) if call.session else None
    if work is not None:
        reply.work_id = work["id"]
        reply.work_title = "" if work["title"] == row["title"] else work["title"]


@operation(
    "memory_complete_backlog_item",
    writes=True,
    keywords="done, mark finished, tick off, fixed, resolved, cancel, duplicate",
)
async def complete_backlog_item(
    call: Call,
    item_id: Id,
    resolution: Annotated[model.ItemText | None, Field(description="How, or why not.")] = None,
    wont_do: bool = False,
) -> CompletedItem:
    """Close a task with how it was solved; who waits for it is told."""
    row = await edits.load_locked_item(call, item_id)
    if row["closed"]:
        raise errors.Conflict(
            f"{row['completed_by']} already closed {row['id']} as {row['status']}.",
            hint='To reopen it, call memory_update_backlog_item with status="open".',
            current=row["status"],
        )
    edits_wanted = {"status": "wont_do" if wont_do else "done", "resolution": resolution or ""}
    completed, _ = await edits.edit_item(call, row, edits_wanted)
    effects = await edits.announce_closing(call, row, completed)
    return CompletedItem(
        status=completed["status"],
        id=completed["id"],
        title=completed["title"],
        completed_by=completed["completed_by"],
        unblocked=effects.unblocked,
        notified=effects.notified,
        still_locked=await claims.list_locked_files(call),
        open_work=await claims.list_open_work(call),
    )


_OPERATION_BY_ACTION: dict[BacklogAction, Operation] = {
    "create": add_backlog_item,
    "update": update_backlog_item,
    "complete": complete_backlog_item,
}

_CLAIM_ARGUMENTS = ("claim", "force")
_CLAIMED_FIELDS = ("version", "item_status", "assigned_to", "claimed_until", "work_id", "work_title")


_ITEM_PROPERTIES = {
    name: {key: value for key, value in kind.items() if key != "default"}
    for each in _OPERATION_BY_ACTION.values()
    for name, kind in each.argument_model.model_json_schema()["properties"].items()
    if name != each.session_argument
}
BatchItem = Annotated[dict[str, Any], WithJsonSchema({"type": "object", "properties": _ITEM_PROPERTIES})]
BatchItems = Annotated[
    list[BatchItem],
    Field(
        min_length=1,
        max_length=100,
        description="Arguments as in the single tools; depends_on takes #0 for the first.",
    ),
]


@operation(
    "memory_batch_backlog",
    writes=True,
    example={"action": "create", "items": [{"title": "One"}, {"title": "Two"}]},
    keywords="bulk, import, several tickets, stories, issues, at once, in one go",
)
async def batch_backlog(call: Call, action: BacklogAction, items: BatchItems) -> BatchReply:
    """Add, change or complete many tasks in one call, all or none. Use it to break down a feature."""
    replies: list[Any] = []
    problems: list[dict[str, Any]] = []
    ids_by_reference: dict[str, str] = {}
    for index, item in enumerate(items):
        if _depends_on_any(item, [f"#{problem['index']}" for problem in problems]):
            continue
        arguments = _replace_references(item, ids_by_reference)
        try:
            reply = await _run_action(call, action, arguments)
        except errors.Unavailable:
            raise
        except errors.Refusal as refusal:
            problems.append({"index": index, **refusal.to_dict()})
        else:
            ids_by_reference[f"#{index}"] = reply.id
            replies.append(msgspec.structs.replace(reply, ref=f"#{index}") if action == "create" else reply)
    if problems:
        raise errors.Invalid(
            f"{len(problems)} of {len(items)} items are invalid; nothing was changed.",
            hint="Correct the items listed in problems (by index) and send the whole batch again.",
            problems=problems,
        )
    call.subject = f"{action} {len(replies)}"
    return BatchReply(status="completed", action=action, count=len(replies), items=replies)


async def _run_action(call: Call, action: BacklogAction, item: dict[str, Any]) -> Any:
    """A new item may be claimed, too: by the rules of a claim, in the same transaction."""
    if action != "create" or "claim" not in item:
        return await _run_item_operation(call, action, item)
    claim = {name: item[name] for name in _CLAIM_ARGUMENTS if name in item}
    draft = {name: value for name, value in item.items() if name not in _CLAIM_ARGUMENTS}
    if not claim["claim"]:
        return await _run_item_operation(call, "create", draft)
    added: ChangedItem = await _run_item_operation(call, "create", draft)
    return await _claim_added(call, added, claim)


async def _run_item_operation(call: Call, action: BacklogAction, item: dict[str, Any]) -> Any:
    item_operation = _OPERATION_BY_ACTION[action]
    _require_arguments_of_action(action, item)
    arguments = item_operation.parse_arguments({**item, "session_id": call.own_session.id}, call.mask)
    del arguments["session_id"]
    if may_name_others(arguments):
        await suggest_names(call, arguments)
    return await item_operation.function(call, **arguments)


def _require_arguments_of_action(action: BacklogAction, item: Mapping[str, Any]) -> None:
    """The schema of an item lists the arguments of all actions: name those that take one which this one does not."""
    for name in item:
        takers = [other for other, taker in _OPERATION_BY_ACTION.items() if taker.takes_argument(name)]
        if takers and action not in takers and item[name] is not None:
            raise errors.UnknownArgument(
                f"action='{action}' does not take '{name}'.",
                hint=f"It is an argument of: {', '.join(takers)}.",
            )


def _replace_references(item: Mapping[str, Any], ids_by_reference: Mapping[str, str]) -> dict[str, Any]:
    """Replace `#0`, `#1` in depends_on by the ids of those earlier items of the batch, which had none yet."""
    depends_on = item.get("depends_on")
    if not isinstance(depends_on, list):
        return dict(item)
    resolved = [ids_by_reference.get(need, need) if isinstance(need, str) else need for need in depends_on]
    return {**item, "depends_on": resolved}


def _depends_on_any(item: Mapping[str, Any], references: Collection[str]) -> bool:
    """Does the item depend on one of these items of its batch? If that one is invalid, nothing can be said of this one."""
    depends_on = item.get("depends_on")
    return isinstance(depends_on, list) and any(reference in depends_on for reference in references)
