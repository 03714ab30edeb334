"""Retention of the records of who read a spec. Specs and their versions are never deleted."""

from commonplace.clock import DAY
from commonplace.config import Settings
from commonplace.rooms.specs import store
from commonplace.store.database import Tx

_READER_RETENTION = 90 * DAY


async def delete_old_readers(tx: Tx, now: int, _settings: Settings) -> None:
    await store.delete_expired_readers(tx, now - _READER_RETENTION)
