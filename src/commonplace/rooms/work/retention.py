"""Retention of work items, signals and touched files."""

from commonplace.config import Settings
from commonplace.rooms.work import store
from commonplace.search.index import WORK_KIND, remove_entries
from commonplace.store.database import Tx


async def delete_finished_work(tx: Tx, now: int, _settings: Settings) -> None:
    deleted = await store.delete_expired_work(tx, now)
    for project in sorted({row["project"] for row in deleted}):
        ids = [row["id"] for row in deleted if row["project"] == project]
        await remove_entries(tx, project, WORK_KIND, ids)
