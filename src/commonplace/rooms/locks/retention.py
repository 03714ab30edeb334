"""Retention of leases that lapsed and that nobody renewed or took over."""

from collections import defaultdict

from commonplace.clock import DAY
from commonplace.config import Settings
from commonplace.project import list_all_project_names
from commonplace.rooms.locks import store, waiters
from commonplace.store.database import Row, Tx

_LAPSED_MICROSECONDS = DAY


async def delete_lapsed_leases(tx: Tx, now: int, _settings: Settings) -> None:
    """Delete leases that lapsed a day ago, and notify their holders."""
    projects = await list_all_project_names(tx)
    await waiters.delete_expired_waiters(tx, projects)
    rows_by_project: dict[str, list[Row]] = defaultdict(list)
    for row in await store.delete_leases_expired_before(
        tx, projects, await tx.clock() - _LAPSED_MICROSECONDS
    ):
        rows_by_project[row["project"]].append(row)
    for project, rows in rows_by_project.items():
        await store.notify_lapsed_holders(tx, project, rows, now)
