"""Delete bodies in the archive storage whose upload never committed."""

import asyncio
from typing import Any

from commonplace.clock import DAY
from commonplace.rooms.archives import store
from commonplace.store.database import Database
from commonplace.transcripts.archive import frame_storage


async def delete_orphaned_bodies(calls: Any) -> None:
    """Mark them as unusable, delete the files, delete the rows. A crash after any step leaves a consistent state."""
    storage = frame_storage.open_frame_storage(calls.settings.archives)
    if storage is None:
        return
    database: Database = calls.database
    before = calls.clock() - DAY
    orphans = await database.write(lambda tx: store.mark_orphaned_bodies(tx, before))
    for _, address in orphans:
        await asyncio.to_thread(storage.delete_body, address)
    if orphans:
        await database.write(lambda tx: store.delete_bodies(tx, orphans))
