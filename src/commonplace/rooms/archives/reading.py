"""Stored bytes, read in bounded pieces outside of any transaction."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial

from commonplace.rooms.archives import bodies, frames, store
from commonplace.rooms.archives.model import Archive
from commonplace.rooms.archives.store import Kept
from commonplace.store.database import Database

AT_ONCE = 4


async def opened(kept: Kept, setting: str) -> bytes:
    """The raw bytes of a frame, unpacked away from the event loop."""
    try:
        body = await bodies.fetched(setting, kept.address) if kept.address else kept.body
    except FileNotFoundError:
        raise frames.missing(kept.place) from None
    return await asyncio.to_thread(frames.opened, kept.place, kept.sha256, body)


async def pieces(
    database: Database, setting: str, archive: Archive, first: int, end: int
) -> AsyncIterator[bytes]:
    """The bytes from `first` up to `end`, frame by frame, however many there are."""
    at = first
    while at < end:
        found = await database.read(partial(store.frames, archive=archive, first_byte=at, count=AT_ONCE))
        if not found:
            raise frames.missing(frames.Place(at, end - at, 0, 0))
        for kept in found:
            if kept.place.first_byte >= end:
                return
            raw = await opened(kept, setting)
            yield within(raw, kept.place.first_byte, first, end)
            at = kept.place.end


def within(raw: bytes, first_byte: int, first: int, end: int) -> bytes:
    """What of these bytes, which stand at `first_byte`, lies between `first` and `end`."""
    return raw[max(0, first - first_byte) : max(0, end - first_byte)]
