"""Finds a message of a blackboard for memory_get_by_id, by its own id or by that which a search gives."""

from typing import Any

from commonplace.call import Call
from commonplace.clock import iso
from commonplace.rooms.blackboard import message_lookup as store
from commonplace.rooms.blackboard.reader import identify_reader, visibility_of_audience
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


async def find_message(call: Call, project: str, message_id: str) -> dict[str, Any] | None:
    """A message that the caller may see."""
    if not call.caller.sees_project(project):
        return None
    reader = await identify_reader(call)
    rows = await store.find_messages_by_id(call.tx, project, message_id, reader.list_audiences())
    if len(rows) != 1:
        return None
    row = rows[0]
    return {
        "id": row["id"],
        "title": row["purpose"],
        "type": row["message_type"],
        "status": "active",
        "project": project,
        "created": iso(row["at"]),
        "author": row["sender"],
        "content": row["content"],
        "links": {
            "session_id": row["session"],
            "sequence": row["sequence"],
            "visibility": visibility_of_audience(row["audience"]),
        },
    }


FINDERS = {"session_": find_public_message, "msg_": find_message}
