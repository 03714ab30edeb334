"""Retention of finished mail. Unread mail is never deleted."""

from collections.abc import Sequence

from commonplace.retention import RetentionRule, Sweep, delete_from_table
from commonplace.rooms.messages import store
from commonplace.rooms.messages.search import SEARCH_SOURCE
from commonplace.search.refresh import refresh_items
from commonplace.store.database import Row, Tx


async def _refresh_deliveries(tx: Tx, batch: Sweep, rows: Sequence[Row]) -> None:
    await _refresh(tx, batch, [row["message"] for row in rows])


async def _find_projects(tx: Tx, projects: Sequence[str], before: int, limit: int) -> set[str]:
    return await store.list_some_projects_with_delivered_messages(tx, projects, before, limit)


async def _delete_messages(tx: Tx, batch: Sweep) -> int:
    ids = await store.delete_delivered_messages(tx, batch.project, batch.before, batch.limit)
    await _refresh(tx, batch, ids)
    return len(ids)


async def _count_messages(tx: Tx, batch: Sweep) -> int:
    return await store.count_delivered_messages(tx, batch.project, batch.before)


async def _refresh(tx: Tx, batch: Sweep, ids: Sequence[str]) -> None:
    if ids:
        await refresh_items(tx, SEARCH_SOURCE, batch.project, list(dict.fromkeys(ids)))


FINISHED_DELIVERIES = delete_from_table(
    "delivery",
    kind="finished_deliveries",
    key=("message", "agent"),
    old=f"state >= {store.COMPLETED} and changed_at < $2",
    setting="message_days",
    after=_refresh_deliveries,
)
FINISHED_MESSAGES = RetentionRule(
    kind="finished_messages",
    setting="message_days",
    find_due=_find_projects,
    sweep=_delete_messages,
    count=_count_messages,
)
