"""Retention of audit rows, of the answers to idempotency keys and of sessions of the web page."""

from commonplace import idempotency
from commonplace.clock import DAY
from commonplace.config import Settings
from commonplace.rooms.admin import audit_sealing, browser_store
from commonplace.store.database import Tx


async def delete_old_audit_rows(tx: Tx, now: int, settings: Settings) -> None:
    await audit_sealing.remove_old_audit_rows(tx, now - settings.audit_days * DAY, now)


async def delete_old_answers(tx: Tx, now: int, _settings: Settings) -> None:
    await idempotency.delete_expired_answers(tx, now)


async def delete_old_browser_sessions(tx: Tx, now: int, _settings: Settings) -> None:
    await browser_store.delete_expired_browser_sessions(tx, now)
