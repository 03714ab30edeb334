"""Finds a message by its id, for memory_get_by_id."""

from collections.abc import Sequence
from typing import Any

from commonplace.call import Call
from commonplace.project import is_project_admin
from commonplace.rooms.messages import model, search, store
from commonplace.store import ids
from commonplace.store.database import Row


async def find_message(call: Call, project: str, id_prefix: str) -> dict[str, Any] | None:
    match = await ids.find_ids_by_prefix(call.tx, "message", [project], id_prefix)
    row = await store.load_message(call.tx, *match[0]) if match else None
    if row is None:
        return None
    deliveries = await store.list_deliveries(call.tx, project, row["id"])
    if not await _can_read_message(call, row, deliveries):
        return None
    return model.render_message_document(row, deliveries)


async def _can_read_message(call: Call, row: Row, deliveries: Sequence[Row]) -> bool:
    """A broadcast is readable by everyone in the project, mail by its sender, its recipients and the project's admins."""
    if row["addressed_to"] == model.ALL_AGENTS or call.name_reader(row["project"]) in search.list_readers(
        row, deliveries
    ):
        return True
    return await is_project_admin(call.tx, row["project"], call.caller, call.agent)


FINDERS = {"msg_": find_message}
