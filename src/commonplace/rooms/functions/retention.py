"""Retention of functions that are no longer in the source tree."""

from commonplace.clock import DAY
from commonplace.config import Settings
from commonplace.rooms.functions import store
from commonplace.store.database import Tx

_GONE_MICROSECONDS = 30 * DAY


async def delete_gone_functions(tx: Tx, now: int, _settings: Settings) -> None:
    await store.delete_expired_functions(tx, now - _GONE_MICROSECONDS)
