"""Retention of agent memory: expired values are no longer read; this deletes them."""

from commonplace.config import Settings
from commonplace.project import list_all_project_names
from commonplace.rooms.agent_memory import store
from commonplace.store.database import Tx


async def delete_expired_memory(tx: Tx, now: int, _settings: Settings) -> None:
    for owner in await store.list_owners_with_expired_entries(tx, await list_all_project_names(tx), now):
        await store.add_usage(tx, owner)
        await store.delete_expired_entries(tx, owner, now)
