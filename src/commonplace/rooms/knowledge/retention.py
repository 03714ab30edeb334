"""Retention of documents: marks expired ones, and deletes old rows about what sessions were shown."""

from commonplace.clock import DAY
from commonplace.config import Settings
from commonplace.rooms.knowledge import store
from commonplace.store.database import Tx

_SERVED_MICROSECONDS = 7 * DAY


async def expire_documents(tx: Tx, now: int, _settings: Settings) -> None:
    await store.mark_expired_documents(tx, now)
    await store.delete_old_served_documents(tx, now - _SERVED_MICROSECONDS)
