"""Finds a public message of a blackboard by the id that a search gives, for memory_get_by_id."""

from typing import Any

from commonplace.call import Call
from commonplace.clock import iso
from commonplace.rooms.blackboard.search import load_searched_messages


async def find_public_message(call: Call, project: str, entry_id: str) -> dict[str, Any] | None:
    """The id is session/message. Messages for some agents only are read with get_message."""
    if "/" not in entry_id or not call.caller.sees_project(project):
        return None
    items = await load_searched_messages(call.tx, project, [entry_id])
    if not items:
        return None
    item = items[0]
    return {
        "id": item.id,
        "title": item.title,
        "type": item.type,
        "status": item.status,
        "project": project,
        "created": iso(item.created_at),
        "updated": iso(item.updated_at),
        "author": item.author,
        "content": item.text,
        "links": {"session_id": entry_id.partition("/")[0]},
    }


FINDERS = {"session_": find_public_message}
