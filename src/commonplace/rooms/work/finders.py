"""Finds a work item by its id, for memory_get_by_id."""

from typing import Any

import msgspec

from commonplace.call import Call
from commonplace.clock import iso
from commonplace.rooms.work import store
from commonplace.store import ids


async def find_work_by_id(call: Call, project: str, id_prefix: str) -> dict[str, Any] | None:
    match = await ids.find_ids_by_prefix(call.tx, "work", [project], id_prefix)
    rows = await store.load_work_items(call.tx, project, [match[0][1]]) if match else []
    if not rows:
        return None
    row = rows[0]
    blocked = {name: row[name] for name in ("blocked_by", "blocked_reason", "waiting_for") if row[name]}
    return {
        "id": row["id"],
        "title": row["title"],
        "type": "work_item",
        "status": row["status"],
        "project": project,
        "created": iso(row["created_at"]),
        "updated": iso(row["updated_at"]),
        "author": row["agent"],
        "content": row["notes"],
        "links": {"files": msgspec.json.decode(row["files"]), **blocked},
    }


FINDERS = {"work_": find_work_by_id}
