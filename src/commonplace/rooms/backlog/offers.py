"""What this room gives to the others: work for a starting session, and items by id."""

from typing import Any

from commonplace.boot import BootSection, StartingSession
from commonplace.call import Call
from commonplace.rooms.backlog import model, store
from commonplace.store import ids

_TOP = 5


async def _work_at_hand(call: Call, start: StartingSession) -> list[dict[str, Any]]:
    rows = await store.mine_or_ready(call.tx, start.project, start.agent, _TOP)
    shown = ("id", "title", "priority", "status", "assigned_to", "milestone")
    return [{name: row[name] for name in shown if row[name]} for row in rows]


async def _find(call: Call, project: str, given: str) -> dict[str, Any] | None:
    found = await ids.beginning(call.tx, "backlog", [project], given)
    row = await store.one(call.tx, *found[0]) if found else None
    if row is None:
        return None
    item = model.Item.of(row, await store.needs(call.tx, [project], [row["id"]]), row["updated_at"])
    blocks = await store.blocks(call.tx, project, row["id"])
    return model.found(item, await store.past(call.tx, project, row["id"]), [each["id"] for each in blocks])


work_section = BootSection("backlog", 40, _work_at_hand)
finders = {"backlog_": _find}
