"""Retention of work items, signals and touched files."""

from collections.abc import Sequence

from commonplace.retention import Sweep, delete_from_table
from commonplace.search.index import WORK_KIND, remove_entries
from commonplace.store.database import Row, Tx


async def _remove_entries(tx: Tx, batch: Sweep, rows: Sequence[Row]) -> None:
    await remove_entries(tx, batch.project, WORK_KIND, [row["id"] for row in rows])


WORK_RULES = (
    delete_from_table("touched", kind="touched_files", key=("path", "session"), setting="work_days"),
    delete_from_table("signal", kind="signals", key=("at", "id"), setting="work_days"),
    delete_from_table("work", at="updated_at", setting="work_days", after=_remove_entries),
)
