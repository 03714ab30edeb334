"""What this room gives to the others: work for a starting session, and items by id."""

from typing import Any

from commonplace.boot import BootSection, StartingSession
from commonplace.call import Call
from commonplace.rooms.backlog import model, store
from commonplace.store import ids

MAX_BOOT_ITEMS = 5


async def _list_boot_items(call: Call, start: StartingSession) -> list[dict[str, Any]]:
    rows = await store.list_own_or_ready_items(call.tx, start.project, start.agent, MAX_BOOT_ITEMS)
    fields = ("id", "title", "priority", "status", "assigned_to", "milestone")
    return [{name: row[name] for name in fields if row[name]} for row in rows]


async def _find_backlog_item(call: Call, project: str, id_prefix: str) -> dict[str, Any] | None:
    match = await ids.beginning(call.tx, "backlog", [project], id_prefix)
    row = await store.load_item(call.tx, *match[0]) if match else None
    if row is None:
        return None
    item = model.BacklogItem.from_row(
        row, await store.list_dependencies(call.tx, [project], [row["id"]]), row["updated_at"]
    )
    dependents = await store.list_dependents(call.tx, project, row["id"])
    return model.render_item_document(
        item,
        await store.list_changes(call.tx, project, row["id"]),
        [dependent["id"] for dependent in dependents],
    )


work_section = BootSection("backlog", 40, _list_boot_items)
finders = {"backlog_": _find_backlog_item}
