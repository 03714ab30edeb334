"""Finds a request to a person by its id, for memory_get_by_id: for the agent that asked, and for admins."""

from typing import Any

from commonplace.call import Call
from commonplace.clock import iso
from commonplace.project import is_project_admin
from commonplace.rooms.requests import model, store


async def find_request(call: Call, project: str, request_id: str) -> dict[str, Any] | None:
    if not call.caller.sees_project(project):
        return None
    row = await store.load_request(call.tx, project, request_id)
    if row is None or not (
        row["agent"] == call.agent or await is_project_admin(call.tx, project, call.caller, call.agent)
    ):
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
        "resolution": model.format_answer(row) if row["state"] == "answered" else "",
    }


FINDERS = {"req_": find_request}
