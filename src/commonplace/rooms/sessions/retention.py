"""Retention of unused sessions, notices that nobody read, and workers that did not return."""

from commonplace import acting
from commonplace.config import Settings
from commonplace.rooms.sessions import store
from commonplace.store.database import Tx


async def delete_unused_sessions(tx: Tx, now: int, _settings: Settings) -> None:
    await store.delete_expired_sessions(tx, now)
    await acting.delete_expired_bindings(tx, now)
