"""Finds a checklist by its id, for memory_get_by_id."""

from typing import Any

from commonplace.call import Call
from commonplace.rooms.checklists import model, store
from commonplace.rooms.checklists.resources import CHECKLIST
from commonplace.store import ids


async def find_checklist(call: Call, project: str, id_prefix: str) -> dict[str, Any] | None:
    match = await ids.find_ids_by_prefix(call.tx, "checklist", [project], id_prefix)
    rows = await store.load_checklists(call.tx, project, [match[0][1]]) if match else []
    if not rows:
        return None
    items = await store.list_items(call.tx, project, rows[0]["name"])
    uri = CHECKLIST.format_uri(project=project, name=rows[0]["name"])
    return model.render_checklist_document(rows[0], items, uri)


FINDERS = {"checklist_": find_checklist}
