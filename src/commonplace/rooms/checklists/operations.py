"""The actions of memory_checklist: create, get, add, check, delete and list."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from commonplace import errors
from commonplace.arguments import AllProjects, ProjectOrAll
from commonplace.call import Call
from commonplace.operation import OperationFamily, operation
from commonplace.project import list_visible_project_names
from commonplace.rooms.checklists import model, store
from commonplace.rooms.checklists.contributes import CHECKLIST_CHANGED, CHECKLIST_KIND
from commonplace.rooms.checklists.model import (
    ChangedChecklist,
    CheckedItem,
    Checklist,
    ChecklistListing,
    ChecklistSummary,
    DeletedChecklist,
)
from commonplace.store.database import Row
from commonplace.suggestions import find_close_name

_TOOL_NAME = "memory_checklist"


@operation(
    _TOOL_NAME, writes=True, example={"name": "release", "items": ["tests are green", "changelog is written"]}
)
async def create_checklist(
    call: Call, name: model.ChecklistName, items: model.InitialItems | None = None, project: str | None = None
) -> ChangedChecklist:
    """Create a list."""
    row = await store.insert_checklist(call.tx, call.project, name, call.agent, call.now)
    if row is None:
        raise errors.Duplicate(
            f"Checklist '{name}' already exists in '{call.project}'.",
            hint='Add items with action="add", or choose another name.',
        )
    return await _append_items(call, row, [], items or [], "created")


@operation(_TOOL_NAME, role="readonly")
async def get_checklist(call: Call, name: model.ChecklistName, project: str | None = None) -> Checklist:
    """Get a list with who checked what and when."""
    row = await store.load_checklist(call.tx, call.project, name)
    if row is None:
        raise await _checklist_not_found(call, name)
    return Checklist.from_row(row, await store.list_items(call.tx, call.project, name))


@operation(_TOOL_NAME, writes=True)
async def add_checklist_items(
    call: Call, name: model.ChecklistName, items: model.ChecklistItems, project: str | None = None
) -> ChangedChecklist:
    """Append items to a list."""
    row = await _lock_checklist(call, name)
    return await _append_items(call, row, await store.list_items(call.tx, call.project, name), items, "added")


@operation(_TOOL_NAME, writes=True, idempotent=True)
async def check_item(
    call: Call,
    name: model.ChecklistName,
    item_index: model.ChecklistIndexes,
    done: Annotated[bool, Field(description="false unticks.")] = True,
    notes: model.ChecklistNotes | None = None,
    project: str | None = None,
) -> CheckedItem:
    """Check an item, or uncheck it with done=false; the first has item_index 0. A list of numbers checks several."""
    checklist_row = await _lock_checklist(call, name)
    items = await store.list_items(call.tx, call.project, name)
    missing = [index for index in item_index if index >= len(items)]
    if missing:
        raise errors.NotFound(
            f"'{name}' has {len(items)} items, but not item_index {', '.join(map(str, missing))}.",
            hint='The first item has item_index 0; list them with action="get".',
        )
    if notes and any(len(items[index]["notes"]) > model.MAX_NOTES_OF_ITEM_CHARACTERS for index in item_index):
        raise errors.TooMany(
            f"The notes of an item are limited to {model.MAX_NOTES_OF_ITEM_CHARACTERS:,} characters.",
            hint="Check it without notes, or store them with memory_store.",
        )
    checked = await store.update_checks(
        call.tx, call.project, name, item_index, done, notes, call.agent, call.now
    )
    _emit_checklist_changed(call, checklist_row)
    return CheckedItem.from_rows(items, checked, checklist_row, notes, call.agent)


@operation(_TOOL_NAME, writes=True, destroys=True)
async def delete_checklist(
    call: Call, name: model.ChecklistName, project: str | None = None
) -> DeletedChecklist:
    """Delete a list with its items."""
    row = await _lock_checklist(call, name)
    removed = await store.delete_checklist_rows(call.tx, call.project, name)
    _emit_checklist_changed(call, row)
    return DeletedChecklist(status="deleted", name=name, project=call.project, items_deleted=removed)


@operation(_TOOL_NAME, role="readonly", example={})
async def list_checklists(call: Call, project: ProjectOrAll | None = None) -> ChecklistListing:
    """List the checklists of a project, or of all (`*`), last changed first."""
    all_projects = isinstance(project, AllProjects)
    projects = await list_visible_project_names(call.tx, call.caller) if all_projects else [call.project]
    rows: list[Row] = []
    total = 0
    for name in projects:
        found = await store.list_checklist_rows(call.tx, name)
        total += found[0]["lists"] if found else 0
        rows += found
    rows.sort(key=lambda row: (-row["updated_at"], row["name"]))
    shown = rows[: model.MAX_LISTED_CHECKLISTS]
    return ChecklistListing(
        count=len(shown), total=total, checklists=[ChecklistSummary.from_row(row) for row in shown]
    )


checklist = OperationFamily(
    _TOOL_NAME,
    "Create checklists, tick off their items, show what is left.",
    {
        "create": create_checklist,
        "get": get_checklist,
        "add": add_checklist_items,
        "check": check_item,
        "delete": delete_checklist,
        "list": list_checklists,
    },
    keywords="steps, release, rollout, migration, go through, check, verify progress",
)


async def _append_items(
    call: Call, row: Row, current_items: Sequence[Row], texts: list[str], outcome: str
) -> ChangedChecklist:
    if len(current_items) + len(texts) > model.MAX_CHECKLIST_ITEMS:
        raise errors.TooMany(
            f"A checklist can have at most {model.MAX_CHECKLIST_ITEMS} items.",
            hint='Create another list with action="create".',
        )
    await store.insert_items(
        call.tx, call.project, row["name"], len(current_items), texts, call.agent, call.now
    )
    _emit_checklist_changed(call, row)
    done = sum(item["done"] for item in current_items)
    return ChangedChecklist(
        status=outcome,
        id=row["id"],
        name=row["name"],
        project=call.project,
        progress=model.format_progress(done, len(current_items) + len(texts)),
        first_index=len(current_items) if texts else None,
    )


async def _lock_checklist(call: Call, name: str) -> Row:
    row = await store.lock_checklist(call.tx, call.project, name, call.now)
    if row is None:
        raise await _checklist_not_found(call, name)
    return row


async def _checklist_not_found(call: Call, name: str) -> errors.NotFound:
    rows = await store.list_checklist_rows(call.tx, call.project)
    close = find_close_name(name, [row["name"] for row in rows])
    return errors.NotFound(
        f"Checklist '{name}' does not exist in '{call.project}'.",
        hint=f"Did you mean '{close}'?" if close else 'Find its name with action="list".',
    )


def _emit_checklist_changed(call: Call, row: Row) -> None:
    name = call.subject = row["name"]
    call.reindex(CHECKLIST_KIND, row["id"])
    call.emit(CHECKLIST_CHANGED, {"name": name}, name=name)
