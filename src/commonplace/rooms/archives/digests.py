"""The SHA-256 of a whole session, kept up as it grows.

A hash cannot be stored half-way, so the running ones are kept in memory under the digest that they stand at: such a
digest is the stored one or it is not used. After a restart the stored frames are hashed once more, a few at a time.
"""

import asyncio
import hashlib
from collections import OrderedDict
from typing import TYPE_CHECKING

from commonplace.rooms.archives import frames, reading
from commonplace.rooms.archives.model import Archive
from commonplace.store.database import Database

if TYPE_CHECKING:
    from hashlib import _Hash

_REMEMBERED = 1024
_running: OrderedDict[str, "_Hash"] = OrderedDict()


async def extended(database: Database, setting: str, before: Archive | None, more: bytes | bytearray) -> str:
    """The digest of what is stored with `more` after it."""
    running = await _at_end_of(database, setting, before) if before else hashlib.sha256()
    await asyncio.to_thread(running.update, more)
    _remember(running)
    return running.hexdigest()


async def _at_end_of(database: Database, setting: str, archive: Archive) -> "_Hash":
    if known := _running.get(archive.sha256):
        return known.copy()
    running = hashlib.sha256()
    async for piece in reading.pieces(database, setting, archive, 0, archive.bytes):
        await asyncio.to_thread(running.update, piece)
    if running.hexdigest() != archive.sha256:
        raise frames.damaged(frames.Place(0, archive.bytes, 0, 0))
    return running


def _remember(running: "_Hash") -> None:
    _running[running.hexdigest()] = running
    if len(_running) > _REMEMBERED:
        _running.popitem(last=False)
