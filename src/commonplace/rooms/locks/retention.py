"""Retention of leases that lapsed and that nobody renewed or took over."""

from commonplace.config import Settings
from commonplace.rooms.locks import store
from commonplace.store.database import Tx


async def delete_lapsed_leases(tx: Tx, now: int, _settings: Settings) -> None:
    await store.delete_expired_leases(tx, now)
