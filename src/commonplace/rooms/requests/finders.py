"""Finds a request to a person by its id, for memory_get_by_id: questions of agents for all who may read the project, what
an agent's program asks for that agent and for admins."""

from typing import Any

from commonplace.call import Call
from commonplace.clock import iso
from commonplace.project import is_project_admin
from commonplace.rooms.requests import model, store
from commonplace.store import ids
from commonplace.store.database import Row


async def find_request(call: Call, project: str, id_prefix: str) -> dict[str, Any] | None:
    if not call.caller.sees_project(project):
        return None
    match = await ids.find_ids_by_prefix(call.tx, "person_request", [project], id_prefix)
    row = await store.load_request(call.tx, *match[0]) if match else None
    if row is None or not await _may_read(call, row):
        return None
    return {
        "id": row["id"],
        "title": row["title"],
        "type": f"request: {row['kind']}",
        "status": row["state"],
        "project": project,
        "created": iso(row["created_at"]),
        "updated": iso(row["changed_at"]),
        "author": row["agent"],
        "content": model.format_questions(row),
        "answered_by": row["answered_by"],
        "resolution": model.format_answer(row) if row["state"] == "answered" else "",
    }


async def _may_read(call: Call, row: Row) -> bool:
    if row["source"] == "agent" or row["agent"] == call.agent:
        return True
    return await is_project_admin(call.tx, row["project"], call.caller, call.agent)


FINDERS = {"req_": find_request}
