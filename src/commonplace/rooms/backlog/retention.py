"""Retention of the records of claims. Items themselves are never deleted."""

from commonplace.config import Settings
from commonplace.rooms.backlog import store
from commonplace.store.database import Tx


async def delete_claims_without_session(tx: Tx, _now: int, _settings: Settings) -> None:
    await store.delete_orphaned_claims(tx)
