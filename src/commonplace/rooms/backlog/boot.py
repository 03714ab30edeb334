"""The boot section `backlog`: open items that are assigned to the agent, or ready to be claimed."""

from typing import Any

from commonplace.boot import BootSection, StartingSession
from commonplace.call import Call
from commonplace.rooms.backlog import store
from commonplace.rooms.backlog.model import BacklogItem

MAX_BOOT_ITEMS = 5
_BOOT_FIELDS = (
    "id",
    "title",
    "priority",
    "status",
    "assigned_to",
    "claimed_until",
    "was_claimed_by",
    "was_claimed_until",
    "milestone",
)


async def list_boot_items(call: Call, start: StartingSession) -> list[dict[str, Any]]:
    rows = await store.list_own_or_ready_items(call.tx, start.project, start.agent, MAX_BOOT_ITEMS, call.now)
    items = [BacklogItem.from_row(row, [], call.now) for row in rows]
    return [{name: getattr(item, name) for name in _BOOT_FIELDS if getattr(item, name)} for item in items]


BACKLOG_SECTION = BootSection("backlog", 40, list_boot_items)
