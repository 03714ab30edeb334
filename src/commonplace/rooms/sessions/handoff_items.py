"""Which open handoffs are finished because their backlog items are: derived when they are read, so that an item that is
opened again brings its handoff back.

The items of a handoff are those that its text names and those that its session worked on. Items that were closed before
the handoff was written tell what was done, not what is left.
"""

import re
from collections.abc import Mapping, Sequence

from commonplace.rooms.sessions import handoff_store
from commonplace.store.database import Row, Tx

_ITEM_ID = re.compile(r"\bbacklog_[0-9a-f]{12}\b")


async def list_unfinished_handoffs(tx: Tx, project: str, now: int) -> list[Row]:
    """List open handoffs, newest first, without those whose backlog items were all closed since."""
    return await drop_finished_handoffs(tx, project, await handoff_store.list_open_handoffs(tx, project, now))


async def drop_finished_handoffs(tx: Tx, project: str, handoffs: Sequence[Row]) -> list[Row]:
    """Leave out handoffs whose backlog items were all closed since; a handoff without items stays."""
    if not handoffs:
        return []
    worked_items = await handoff_store.list_items_of_sessions(
        tx, project, [row["session"] for row in handoffs]
    )
    items_by_handoff = {
        row["id"]: {*_ITEM_ID.findall(row["content"]), *worked_items.get(row["session"], ())}
        for row in handoffs
    }
    items = sorted(set().union(*items_by_handoff.values()))
    closed_at = await handoff_store.load_closing_times(tx, project, items) if items else {}
    return [row for row in handoffs if not _is_finished(row, items_by_handoff[row["id"]], closed_at)]


def _is_finished(handoff: Row, items: set[str], closed_at: Mapping[str, int]) -> bool:
    """An item that is open, or unknown in this project, is in no case closed."""
    left = [item for item in items if closed_at.get(item, handoff["created_at"] + 1) > handoff["created_at"]]
    return bool(left) and all(item in closed_at for item in left)
