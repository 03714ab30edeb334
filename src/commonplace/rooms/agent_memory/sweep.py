"""What has expired is no longer read; this deletes it."""

from commonplace.config import Settings
from commonplace.rooms.agent_memory import store
from commonplace.rooms.blackboard.store import every_project
from commonplace.store.database import Tx


async def forget_expired(tx: Tx, now: int, settings: Settings) -> None:  # noqa: ARG001 - the shape of every sweep
    for owner in await store.with_expired(tx, await every_project(tx), now):
        await store.use(tx, owner)
        await store.forget_expired(tx, owner, now)
