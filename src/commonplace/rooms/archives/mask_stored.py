"""Background work: mask stored sessions that older rules masked, or that were stored as they were sent.

Frames keep their offsets and lines; an upload that was prepared meanwhile is refused and continues where it was. What
was parsed out of a session is masked by `restudy.py`.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from commonplace import errors
from commonplace.masking import MASKING_VERSION
from commonplace.masking.transcript_lines import MaskedBytes, mask_lines_in_place
from commonplace.rooms.archives import store
from commonplace.rooms.archives.upload import write_bodies_outside
from commonplace.store.database import Tx
from commonplace.transcripts.archive import frames
from commonplace.transcripts.archive.frames import (
    FRAME_BYTES,
    ArchivedSession,
    StoredFrame,
    open_stored_frame,
)
from commonplace.transcripts.archive.study import ends_with_record

_FRAMES_PER_BATCH = 18
MaskBytes = Callable[[bytes], MaskedBytes]
"""Must keep the length, so that offsets stay true."""
_MAX_BYTES_PER_RUN = 512 * 1024 * 1024
_DAMAGED_VERSION = -MASKING_VERSION
"""Of a session that cannot be read to its end: its readers mask it, and this version does not try again."""


@dataclass(frozen=True, slots=True)
class MaskedBatch:
    """Frames that changed, those that they replace, and where the next batch begins."""

    written: list[StoredFrame]
    replaced: list[StoredFrame]
    masked_lines: int
    next_byte: int


async def mask_stored_sessions(calls: Any) -> None:
    """Mask a bounded amount of bytes; the next run continues."""
    if calls.settings.keeps_raw_archives:
        return
    left = _MAX_BYTES_PER_RUN
    while left > 0 and (archive := await calls.database.read(_find_next_session)):
        left -= archive.bytes
        try:
            if not await rewrite_session(calls, archive, mask_lines_in_place, MASKING_VERSION):
                return
        except frames.DamagedArchive:
            damaged = replace(archive, masking_version=_DAMAGED_VERSION)
            await calls.database.write(lambda tx, a=archive, b=damaged: store.update_archive(tx, a, b))


async def _find_next_session(tx: Tx) -> ArchivedSession | None:
    return await store.find_archive_to_mask(tx, MASKING_VERSION, _DAMAGED_VERSION)


async def rewrite_session(
    calls: Any, archive: ArchivedSession, mask: MaskBytes, version: int | None = None
) -> bool:
    """Mask batch by batch; False if the session changed meanwhile, so that a later run has to look at it again.

    `version` says which rules masked the session from then on. Without one, a line that is not complete yet is masked too.
    """
    at, masked_lines = 0, 0
    while True:
        loaded = await store.session_bytes(calls.database, calls.settings.archives, archive).load_frames(
            at, _FRAMES_PER_BATCH
        )
        batch = await _mask_batch(calls, archive, loaded, mask, masks_end=version is None)
        at, masked_lines = batch.next_byte, masked_lines + batch.masked_lines
        is_last = at >= archive.bytes
        after = replace(
            archive,
            masking_version=version if is_last and version is not None else archive.masking_version,
            masked_lines=archive.masked_lines + masked_lines,
        )
        if not await calls.database.write(lambda tx, b=batch, a=after: _write_batch(tx, archive, a, b)):
            return False
        if is_last:
            return True


async def _mask_batch(
    calls: Any, archive: ArchivedSession, loaded: list[StoredFrame], mask: MaskBytes, *, masks_end: bool
) -> MaskedBatch:
    """Mask the complete lines of these frames; the next batch begins with the frame of the line that is cut."""
    if not loaded:
        raise frames.missing_frame(frames.FramePosition(0, archive.bytes, 0, 0))
    storage = calls.settings.archives
    raws = [await open_stored_frame(frame, storage) for frame in loaded]
    first, end = loaded[0].position.first_byte, loaded[-1].position.end
    raw = b"".join(raws)
    cut = raw.rfind(b"\n") + 1
    next_byte = end
    if end >= archive.bytes:
        cut = len(raw) if masks_end or ends_with_record(raw[cut:]) else cut
    elif cut < FRAME_BYTES:
        cut = len(raw)
    else:
        next_byte = first + cut // FRAME_BYTES * FRAME_BYTES
    masked = await asyncio.to_thread(mask, raw[:cut])
    safe = masked.content + raw[cut:]
    changed = [
        (frame, safe[frame.position.first_byte - first : frame.position.end - first])
        for frame, before in zip(loaded, raws, strict=True)
        if safe[frame.position.first_byte - first : frame.position.end - first] != before
    ]
    packed = await asyncio.to_thread(
        lambda: [frames.pack_frame(frame.position, content) for frame, content in changed]
    )
    written = await write_bodies_outside(calls, archive.project, packed)
    return MaskedBatch(written, [frame for frame, _ in changed], masked.changed_lines, next_byte)


async def _write_batch(tx: Tx, before: ArchivedSession, after: ArchivedSession, batch: MaskedBatch) -> bool:
    """False, and nothing is written, if an upload changed the session since it was loaded."""
    added = sum(frame.stored_bytes for frame in batch.written) - sum(
        frame.stored_bytes for frame in batch.replaced
    )
    if not await store.update_masked_archive(tx, before, after, added):
        return False
    addresses = [frame.address for frame in batch.written if frame.address]
    if addresses and not await store.claim_bodies(tx, before.project, addresses):
        raise errors.Unavailable("Bodies of masked frames were deleted as orphans.")
    await store.write_frames(tx, before, batch.written)
    await store.insert_unwanted_bodies(tx, before.project, batch.replaced)
    return True
