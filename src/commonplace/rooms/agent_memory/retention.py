"""Retention of agent memory: expired values are no longer read; this deletes them."""

from commonplace.config import Settings
from commonplace.rooms.agent_memory import store
from commonplace.rooms.blackboard.store import every_project
from commonplace.store.database import Tx


async def delete_expired_memory(tx: Tx, now: int, _settings: Settings) -> None:
    for owner in await store.with_expired(tx, await every_project(tx), now):
        await store.use(tx, owner)
        await store.forget_expired(tx, owner, now)
