"""The boot section `backlog`: open items that are assigned to the agent, or ready to be claimed."""

from typing import Any

from commonplace.boot import BootSection, PartialSection, StartingSession
from commonplace.call import Call
from commonplace.rooms.backlog import store
from commonplace.rooms.backlog.model import BacklogItem

MAX_BOOT_ITEMS = 5
_MAX_ITEMS_COUNTED = 100
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
    "created_by",
)


async def list_boot_items(call: Call, start: StartingSession) -> PartialSection:
    rows = await store.list_own_or_ready_items(
        call.tx, start.project, start.agent, _MAX_ITEMS_COUNTED, call.now
    )
    shown = rows[: start.scale_limit(MAX_BOOT_ITEMS)]
    entries = [_render_item(BacklogItem.from_row(row, [], call.now)) for row in shown]
    return PartialSection(entries, len(rows) - len(shown))


def _render_item(item: BacklogItem) -> dict[str, Any]:
    return {name: getattr(item, name) for name in _BOOT_FIELDS if getattr(item, name)}


BACKLOG_SECTION = BootSection("backlog", 40, list_boot_items)
