"""Finds a backlog item by its id, for memory_get_by_id."""

from typing import Any

from commonplace.call import Call
from commonplace.rooms.backlog import model, store
from commonplace.rooms.backlog.item_document import render_item_document
from commonplace.store import ids


async def find_backlog_item(call: Call, project: str, id_prefix: str) -> dict[str, Any] | None:
    match = await ids.find_ids_by_prefix(call.tx, "backlog", [project], id_prefix)
    row = await store.load_item(call.tx, *match[0]) if match else None
    if row is None:
        return None
    item = model.BacklogItem.from_row(
        row, await store.list_dependencies(call.tx, [project], [row["id"]]), call.now
    )
    dependents = await store.list_dependents(call.tx, project, row["id"])
    return render_item_document(
        item,
        await store.list_changes(call.tx, project, row["id"]),
        [dependent["id"] for dependent in dependents],
    )


FINDERS = {"backlog_": find_backlog_item}
