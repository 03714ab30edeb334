"""Retention of checkouts: as long as the edits of their sessions are remembered."""

from commonplace.clock import DAY
from commonplace.config import Settings
from commonplace.project import list_all_project_names
from commonplace.rooms.checkouts import store
from commonplace.store.database import Tx

_RETENTION = 14 * DAY


async def delete_ended_checkouts(tx: Tx, now: int, _settings: Settings) -> None:
    await store.delete_checkouts_of_ended_sessions(tx, await list_all_project_names(tx), now - _RETENTION)
