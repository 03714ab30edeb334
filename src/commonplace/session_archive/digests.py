"""The SHA-256 of a whole session, kept up to date as it grows.

A half-computed hash cannot be stored, so running hashes stay in memory, keyed by the digest they have reached: a key
is the stored digest or it is not used. After a restart the stored frames are hashed once more, a few at a time.
"""

import asyncio
import hashlib
from collections import OrderedDict
from typing import TYPE_CHECKING

from commonplace.session_archive import frames
from commonplace.session_archive.session_bytes import SessionBytes

if TYPE_CHECKING:
    from hashlib import _Hash

_MAX_RUNNING_HASHES = 1024
_running: OrderedDict[str, "_Hash"] = OrderedDict()


async def extend_digest(stored: SessionBytes | None, appended: bytes) -> tuple[str, bool]:
    """The digest of the bytes sent so far followed by `appended`, and whether it is exact: once lines were masked, only
    a running hash knows what was sent, and after a restart the digest is that of the stored bytes."""
    running, is_exact = await _hash_stored_bytes(stored) if stored else (hashlib.sha256(), True)
    await asyncio.to_thread(running.update, appended)
    if is_exact:
        _remember_hash(running)
    return running.hexdigest(), is_exact


async def _hash_stored_bytes(stored: SessionBytes) -> tuple["_Hash", bool]:
    archive = stored.archive
    if running_hash := _running.get(archive.sha256):
        return running_hash.copy(), True
    running = hashlib.sha256()
    async for piece in stored.read_all():
        await asyncio.to_thread(running.update, piece)
    if running.hexdigest() == archive.sha256:
        return running, True
    if not archive.masked_lines:
        raise frames.damaged_frame(frames.FramePosition(0, archive.bytes, 0, 0))
    return running, False


def _remember_hash(running: "_Hash") -> None:
    _running[running.hexdigest()] = running
    if len(_running) > _MAX_RUNNING_HASHES:
        _running.popitem(last=False)
