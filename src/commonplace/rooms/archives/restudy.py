"""Sessions that an older version read, or that nobody read to their end, are read again, a bounded amount at a time."""

import asyncio
from functools import partial
from typing import Any

from commonplace.rooms.archives import store, study_store
from commonplace.session_archive import frames, study
from commonplace.session_archive.archive import ArchivedSession
from commonplace.session_archive.study import STUDY_VERSION, StudyResult
from commonplace.store.database import Database, Tx

_BATCH_BYTES = 8 * 1024 * 1024
_MAX_BYTES_PER_RUN = 512 * 1024 * 1024


async def restudy_sessions(calls: Any) -> None:
    """So much of it as one pass may; the next pass goes on. One that is damaged keeps nobody else waiting."""
    database: Database = calls.database
    left = _MAX_BYTES_PER_RUN
    while left > 0 and (archive := await database.write(_begin_next_session)):
        try:
            await _restudy_session(database, calls.settings.archives, archive)
        except frames.DamagedArchive:
            await database.write(partial(study_store.skip_study, archive=archive))
        left -= archive.bytes


async def _begin_next_session(tx: Tx) -> ArchivedSession | None:
    """A session that waits, with nothing left of what was read out of it before."""
    place = await study_store.find_session_to_study(tx, STUDY_VERSION)
    archive = await store.find_archive(tx, *place) if place else None
    if archive is not None:
        await study_store.delete_study_results(tx, archive)
        await study_store.reset_study(tx, archive, STUDY_VERSION)
    return archive


async def _restudy_session(database: Database, setting: str, archive: ArchivedSession) -> None:
    first, state, rest, skips = 0, b"", b"", False
    async for piece in store.session_bytes(database, setting, archive).read_all():
        rest += piece
        if len(rest) < _BATCH_BYTES:
            continue
        whole, newline, rest = rest.rpartition(b"\n")
        if not newline:
            rest, skips = b"", True
            continue
        lesson = await _study_batch(database, archive, state, first, whole.split(b"\n"), skips)
        first, state, skips = lesson.lines, lesson.state, False
    if lines := await asyncio.to_thread(study.split_complete_lines, rest):
        await _study_batch(database, archive, state, first, lines, skips)


async def _study_batch(
    database: Database, archive: ArchivedSession, state: bytes, first: int, lines: list[bytes], skips: bool
) -> StudyResult:
    """A line that alone is larger than a batch is not read."""
    if skips:
        lines[0] = b""
    lesson = await asyncio.to_thread(study.study_lines, state, archive.tool, first, lines)

    async def save_batch(tx: Tx) -> None:
        now = await store.find_archive(tx, *archive.key)
        if now is not None:
            await study_store.save_study(tx, now, lesson)

    await database.write(save_batch)
    return lesson
