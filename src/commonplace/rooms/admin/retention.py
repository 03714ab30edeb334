"""Retention of audit rows."""

from commonplace.clock import DAY
from commonplace.config import Settings
from commonplace.rooms.admin import store
from commonplace.store.database import Tx


async def delete_old_audit_rows(tx: Tx, now: int, settings: Settings) -> None:
    await store.delete_expired_audit_rows(tx, now - settings.audit_days * DAY)
