"""Sessions that an older version read, or that nobody read to their end, are read again, a bounded amount at a time."""

import asyncio
from functools import partial
from typing import Any

from commonplace.rooms.archives import store, study_store
from commonplace.session_archive import frames, study
from commonplace.session_archive.archive import Archive
from commonplace.session_archive.study import STUDY_VERSION, StudyResult
from commonplace.store.database import Database, Tx

_BATCH = 8 * 1024 * 1024
_AT_ONCE = 512 * 1024 * 1024


async def study_again(calls: Any) -> None:
    """So much of it as one pass may; the next pass goes on. One that is damaged keeps nobody else waiting."""
    database: Database = calls.database
    left = _AT_ONCE
    while left > 0 and (archive := await database.write(_next)):
        try:
            await _whole(database, calls.settings.archives, archive)
        except frames.DamagedArchive:
            await database.write(partial(study_store.give_up, archive=archive))
        left -= archive.bytes


async def _next(tx: Tx) -> Archive | None:
    """A session that waits, with nothing left of what was read out of it before."""
    place = await study_store.waiting(tx, STUDY_VERSION)
    archive = await store.archive(tx, *place) if place else None
    if archive is not None:
        await study_store.forget(tx, archive)
        await study_store.begin(tx, archive, STUDY_VERSION)
    return archive


async def _whole(database: Database, setting: str, archive: Archive) -> None:
    first, state, rest, skips = 0, b"", b"", False
    async for piece in store.session_bytes(database, setting, archive).read_all():
        rest += piece
        if len(rest) < _BATCH:
            continue
        whole, newline, rest = rest.rpartition(b"\n")
        if not newline:
            rest, skips = b"", True
            continue
        lesson = await _batch(database, archive, state, first, whole.split(b"\n"), skips)
        first, state, skips = lesson.lines, lesson.state, False
    if lines := await asyncio.to_thread(study.split_complete_lines, rest):
        await _batch(database, archive, state, first, lines, skips)


async def _batch(
    database: Database, archive: Archive, state: bytes, first: int, lines: list[bytes], skips: bool
) -> StudyResult:
    """A line that alone is larger than a batch is not read."""
    if skips:
        lines[0] = b""
    lesson = await asyncio.to_thread(study.study_lines, state, archive.tool, first, lines)

    async def write(tx: Tx) -> None:
        now = await store.archive(tx, *archive.key)
        if now is not None:
            await study_store.save_study(tx, now, lesson)

    await database.write(write)
    return lesson
