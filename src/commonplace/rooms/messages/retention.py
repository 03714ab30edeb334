"""Retention of finished mail."""

from commonplace.config import Settings
from commonplace.rooms.messages import model, store
from commonplace.rooms.messages.search import SEARCH_SOURCE
from commonplace.search.refresh import refresh_items
from commonplace.store.database import Tx


async def delete_finished_messages(tx: Tx, now: int, _settings: Settings) -> None:
    changed = await store.delete_expired_messages(tx, now - model.FINISHED_MAIL_RETENTION)
    for project, ids in changed.items():
        await refresh_items(tx, SEARCH_SOURCE, project, list(dict.fromkeys(ids)))
