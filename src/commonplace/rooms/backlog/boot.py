"""The boot sections `backlog`, open items that are assigned to the agent or ready to be claimed, and `filed_by_you`,
those that it filed and others do."""

from collections.abc import Sequence

from commonplace.boot import BootSection, PartialSection, StartingSession
from commonplace.call import Call
from commonplace.rooms.backlog import store
from commonplace.rooms.backlog.model import DEFAULT_PRIORITY, BacklogItem
from commonplace.shortening import shorten_middle
from commonplace.store.database import Row

MAX_BOOT_ITEMS = 5
_MAX_FILED_ITEMS = 3
_MAX_ITEMS_COUNTED = 100
_MAX_CLAIMED_CHARACTERS = 600
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
    "blocked_by",
    "deferred_reason",
)
_USUAL = {"priority": DEFAULT_PRIORITY, "status": "open"}
"""What an entry does not say."""
_FILED_FIELDS = ("id", "title", "priority", "status", "assigned_to", "was_claimed_by", "age")


async def list_boot_items(call: Call, start: StartingSession) -> PartialSection:
    rows, needs = await store.list_own_or_ready_items(
        call.tx, start.project, start.agent, _MAX_ITEMS_COUNTED, call.now
    )
    return _render_section(call, rows, needs, start.scale_limit(MAX_BOOT_ITEMS), _BOOT_FIELDS)


async def list_filed_items(call: Call, start: StartingSession) -> PartialSection:
    """The items that the agent waits for: it filed them, and somebody else has them or nobody can begin."""
    if start.previous_start is None:
        return PartialSection([], 0)
    rows = await store.list_filed_items(call.tx, start.project, start.agent, _MAX_ITEMS_COUNTED, call.now)
    return _render_section(call, rows, [], start.scale_limit(_MAX_FILED_ITEMS), _FILED_FIELDS)


def _render_section(
    call: Call, rows: Sequence[Row], needs: Sequence[Row], limit: int, names: Sequence[str]
) -> PartialSection:
    items = [BacklogItem.from_row(row, needs, call.now) for row in rows[:limit]]
    entries = [
        {name: value for name in names if (value := getattr(item, name)) and value != _USUAL.get(name)}
        | _describe_claimed(item, call.agent)
        for item in items
    ]
    return PartialSection(entries, len(rows) - len(items))


def _describe_claimed(item: BacklogItem, agent: str) -> dict[str, str]:
    """Who goes on with an item needs its text, with the notes that others added at its end."""
    if item.status != "in_progress" or item.assigned_to != agent or not item.description:
        return {}
    return {"description": shorten_middle(item.description, _MAX_CLAIMED_CHARACTERS)}


BACKLOG_SECTION = BootSection("backlog", 40, list_boot_items)
FILED_SECTION = BootSection("filed_by_you", 44, list_filed_items)
