"""Stored bytes of one session, read frame by frame and outside of any transaction."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from commonplace.session_archive import frame_storage, frames
from commonplace.session_archive.archive import ArchivedSession
from commonplace.session_archive.frames import FramePosition, StoredFrame

FRAMES_PER_READ = 4


@dataclass(frozen=True, slots=True)
class SessionBytes:
    """`load_frames(first_byte, count)` loads the frame that holds a byte and those after it; `storage` is the setting
    `archives`, which says where bodies outside of the store are."""

    archive: ArchivedSession
    storage: str
    load_frames: Callable[[int, int], Awaitable[list[StoredFrame]]]

    async def read(self, first: int, end: int) -> AsyncIterator[bytes]:
        """Yield the bytes from `first` up to `end`, frame by frame."""
        at = first
        while at < end:
            loaded = await self.load_frames(at, FRAMES_PER_READ)
            if not loaded:
                raise frames.missing_frame(FramePosition(at, end - at, 0, 0))
            for frame in loaded:
                if frame.position.first_byte >= end:
                    return
                raw = await open_stored_frame(frame, self.storage)
                yield slice_bytes(raw, frame.position.first_byte, first, end)
                at = frame.position.end

    def read_all(self) -> AsyncIterator[bytes]:
        return self.read(0, self.archive.bytes)


async def open_stored_frame(frame: StoredFrame, storage: str) -> bytes:
    """Fetch and decompress a frame in a thread."""
    try:
        body = await frame_storage.fetch_body(storage, frame.address) if frame.address else frame.body
    except FileNotFoundError:
        raise frames.missing_frame(frame.position) from None
    return await asyncio.to_thread(frames.open_frame, frame.position, frame.sha256, body)


def slice_bytes(raw: bytes, first_byte: int, first: int, end: int) -> bytes:
    """The part between `first` and `end` of bytes that start at `first_byte`."""
    return raw[max(0, first - first_byte) : max(0, end - first_byte)]
