"""Finds a guideline by its id, for memory_get_by_id."""

from typing import Any

from commonplace.call import Call
from commonplace.clock import iso
from commonplace.rooms.guidelines import model, notices, store
from commonplace.rooms.guidelines.resources import GUIDELINES
from commonplace.store import ids


async def find_guideline(call: Call, project: str, id_prefix: str) -> dict[str, Any] | None:
    match = await ids.find_ids_by_prefix(call.tx, "guideline", [project], id_prefix)
    rows = await store.load_guidelines(call.tx, project, [match[0][1]]) if match else []
    if not rows:
        return None
    notices.forget_notices(call, rows)
    row, scope = rows[0], model.scope_from_project(project)
    return {
        "id": row["id"],
        "title": row["name"],
        "type": "guideline",
        "status": "active",
        "project": scope,
        "created": iso(row["created_at"] or row["updated_at"]),
        "updated": iso(row["updated_at"]),
        "author": row["updated_by"],
        "content": row["rule"],
        "priority": row["priority"],
        "links": {"uri": GUIDELINES.format_uri(scope=scope)},
    }


FINDERS = {"guideline_": find_guideline}
