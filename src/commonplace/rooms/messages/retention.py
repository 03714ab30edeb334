"""Retention of finished mail."""

from commonplace.config import Settings
from commonplace.rooms.messages import model, store
from commonplace.store.database import Tx


async def delete_finished_messages(tx: Tx, now: int, _settings: Settings) -> None:
    await store.delete_expired_messages(tx, now - model.FINISHED_MAIL_RETENTION)
