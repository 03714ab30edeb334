"""Bodies that were written outside for an upload that never came to its end."""

import asyncio
from typing import Any

from commonplace.clock import DAY
from commonplace.rooms.archives import bodies, store
from commonplace.store.database import Database


async def remove_orphans(calls: Any) -> None:
    """First nobody may use them any more, then they are removed, then they are forgotten: each step may be the last."""
    outside = bodies.outside(calls.settings.archives)
    if outside is None:
        return
    database: Database = calls.database
    before = calls.clock() - DAY
    orphans = await database.write(lambda tx: store.abandon_bodies(tx, before))
    for _, address in orphans:
        await asyncio.to_thread(outside.remove, address)
    if orphans:
        await database.write(lambda tx: store.forget_bodies(tx, orphans))
