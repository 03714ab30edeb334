"""Finds a knowledge file by its id, for memory_get_by_id."""

from commonplace.call import Call
from commonplace.rooms.workspaces import reading
from commonplace.store import ids


async def find_file(call: Call, project: str, given: str) -> dict[str, object] | None:
    where = await ids.beginning(call.tx, "workspace_file", [project], given)
    return await reading.by_id(call, *where[0]) if where else None


FINDERS = {"know_": find_file}
