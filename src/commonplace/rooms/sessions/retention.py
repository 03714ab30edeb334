"""Retention of sessions, of notices that nobody came for, and of workers that were not seen again."""

from commonplace.config import Settings
from commonplace.rooms.sessions import store
from commonplace.store.database import Tx


async def delete_unused_sessions(tx: Tx, now: int, _settings: Settings) -> None:
    await store.delete_old_sessions(tx, now)
