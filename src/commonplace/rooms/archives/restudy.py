"""Background work: study sessions again that an older parser version studied, or that were not studied to their end."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

from commonplace.rooms.archives import store, study_store
from commonplace.store.database import Database, Tx
from commonplace.transcripts.archive import frames, study
from commonplace.transcripts.archive.frames import ArchivedSession
from commonplace.transcripts.archive.study import STUDY_VERSION, StudyResult

_BATCH_BYTES = 8 * 1024 * 1024
_MAX_BYTES_PER_RUN = 512 * 1024 * 1024


async def restudy_sessions(calls: Any) -> None:
    """Study a bounded amount of bytes; the next run continues. A damaged session is skipped."""
    database: Database = calls.database
    left = _MAX_BYTES_PER_RUN
    while left > 0 and (archive := await database.write(_begin_next_session)):
        try:
            await _restudy_session(database, calls.settings.archives, archive)
        except frames.DamagedArchive:
            await database.write(partial(study_store.skip_study, archive=archive))
        left -= archive.bytes


async def _begin_next_session(tx: Tx) -> ArchivedSession | None:
    """Take the next session and delete its old results."""
    key = await study_store.find_session_to_study(tx, STUDY_VERSION)
    archive = await store.find_archive(tx, *key) if key else None
    if archive is not None:
        await study_store.delete_study_results(tx, archive)
        await study_store.reset_study(tx, archive, STUDY_VERSION)
    return archive


async def _restudy_session(database: Database, storage: str, archive: ArchivedSession) -> None:
    first_line, state = 0, b""
    async for lines in _join_batches(store.session_bytes(database, storage, archive).read_all()):
        result = await _study_batch(database, archive, state, first_line, lines)
        first_line, state = result.lines, result.state


async def _join_batches(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Complete lines, a bounded number of bytes at a time. A line that is longer than a batch is left empty."""
    pending: bytes = b""
    beginning: bytes | None = b""
    async for piece in pieces:
        pending += piece
        if len(pending) < _BATCH_BYTES:
            continue
        end = pending.rfind(b"\n") + 1
        if (lines := study.join_complete_lines(beginning, pending[:end])) is not None:
            yield lines
        pending, beginning = (pending[end:], b"") if end else (b"", None)
    if (lines := await asyncio.to_thread(study.join_complete_lines, beginning, pending)) is not None:
        yield lines


async def _study_batch(
    database: Database, archive: ArchivedSession, state: bytes, first_line: int, lines: bytes
) -> StudyResult:
    result = await asyncio.to_thread(study.study_lines, state, archive.tool, first_line, lines)

    async def save_batch(tx: Tx) -> None:
        current = await store.find_archive(tx, *archive.key)
        if current is not None:
            await study_store.save_study(tx, current, result)

    await database.write(save_batch)
    return result
