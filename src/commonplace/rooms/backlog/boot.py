"""The boot section `backlog`: open items that are assigned to the agent, or ready to be claimed."""

from typing import Any

from commonplace.boot import BootSection, StartingSession
from commonplace.call import Call
from commonplace.rooms.backlog import store

MAX_BOOT_ITEMS = 5


async def list_boot_items(call: Call, start: StartingSession) -> list[dict[str, Any]]:
    rows = await store.list_own_or_ready_items(call.tx, start.project, start.agent, MAX_BOOT_ITEMS)
    fields = ("id", "title", "priority", "status", "assigned_to", "milestone")
    return [{name: row[name] for name in fields if row[name]} for row in rows]


BACKLOG_SECTION = BootSection("backlog", 40, list_boot_items)
