"""Retention of work items, signals and touched files."""

from commonplace.config import Settings
from commonplace.rooms.work import store
from commonplace.store.database import Tx


async def delete_finished_work(tx: Tx, now: int, _settings: Settings) -> None:
    await store.delete_expired_work(tx, now)
