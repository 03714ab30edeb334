"""What this room contributes: its event, search sources, finder, and the background work on stored sessions."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import msgspec

from commonplace import errors
from commonplace.call import Call
from commonplace.clock import DAY, iso
from commonplace.events import EventType
from commonplace.masking import MASKING_VERSION
from commonplace.masking.transcript_lines import MaskedBytes, mask_lines_in_place
from commonplace.rooms.archives import store
from commonplace.rooms.archives.upload import save_study, write_bodies_outside
from commonplace.rooms.workspaces.resources import WORKSPACE
from commonplace.search import index
from commonplace.search.source import SearchItem, SearchSource
from commonplace.store.database import Database, Row, Tx
from commonplace.transcripts.archive import frame_storage, frames, study
from commonplace.transcripts.archive.frames import (
    FRAME_BYTES,
    ArchivedSession,
    StoredFrame,
)
from commonplace.transcripts.archive.study import STUDY_VERSION, StudyResult, ends_with_record

SESSION_ARCHIVED = EventType("SessionArchived", WORKSPACE)


def describe_error(row: Row) -> str:
    """The error, the command that failed, and what fixed it."""
    followed = msgspec.json.decode(row["followed"], type=list[str])
    parts = [row["text"], f"ran: {row['command']}" if row["command"] else ""]
    if row["fixed_line"]:
        parts += [f"then: {'; '.join(followed)}", f"gone at line {row['fixed_line']}"]
    return "\n".join(part for part in parts if part)


async def load_searched_passages(tx: Tx, project: str, ids: Sequence[str]) -> list[SearchItem]:
    errors = await store.load_errors(tx, project, ids)
    passages = await store.load_passages(tx, project, [id_ for id_ in ids if id_ not in errors])
    items = [
        _build_search_item(id_, row["text"], describe_error(row), row["line"]) for id_, row in errors.items()
    ]
    return items + [
        _build_search_item(id_, "", "\n".join(piece.text for piece in pieces), pieces[0].line)
        for id_, pieces in passages.items()
    ]


def _build_search_item(entry_id: str, title: str, words: str, line: int) -> SearchItem:
    """Its times are those of the entry."""
    workspace, session = store.session_from_entry_id(entry_id)
    place = {"workspace_id": workspace, "session_id": session, "line": line}
    return SearchItem(id=entry_id, title=title, text=words, changed_at=0, details=place)


SEARCH_SOURCES = tuple(
    SearchSource(
        kind=kind,
        load=load_searched_passages,
        names=names,
        whole=store.session_from_entry_id,
        bonus=-0.5,
        goes_stale=True,
        is_general=kind == index.TRANSCRIPT_KIND,
        is_shared_with_all=False,
    )
    for kind, names in ((index.TRANSCRIPT_KIND, ("archive", "transcript")), (index.PROMPT_KIND, ()))
)


_ID_PARTS = 3


async def find_archived_passage(call: Call, project: str, entry_id: str) -> dict[str, Any] | None:
    """The id is workspace/session/number; only who sees the project may read its archives, as in search_sessions."""
    if entry_id.count("/") != _ID_PARTS - 1 or not call.caller.sees_project(project):
        return None
    items = await load_searched_passages(call.tx, project, [entry_id])
    workspace, session = store.session_from_entry_id(entry_id)
    archive = await store.find_archive(call.tx, project, workspace, session)
    if not items or archive is None:
        return None
    return {
        "id": entry_id,
        "title": items[0].title or archive.title,
        "type": "session",
        "status": "active",
        "project": project,
        "created": iso(archive.started_at),
        "updated": iso(archive.ended_at),
        "author": archive.tool,
        "content": items[0].text,
        "links": {**items[0].details, "read": "read_session"},
    }


FINDERS = {"": find_archived_passage}
"""Ids of archived passages begin with the name of a workspace, so this finder looks at every id that is left."""


_FRAMES_PER_BATCH = 18
_MAX_STUDIED_BYTES = 8 * 1024 * 1024
_MAX_BYTES_PER_RUN = 512 * 1024 * 1024
_DAMAGED_VERSION = -MASKING_VERSION
"""Of a session that cannot be read to its end: its readers mask it, and this version does not try again."""
MaskBytes = Callable[[bytes], MaskedBytes]
"""Must keep the length, so that offsets stay true."""


async def renew_sessions(calls: Any) -> None:
    """Mask stored sessions that older rules masked, or that were stored as they were sent; study again what an older
    parser studied, or what was not studied to its end. A bounded amount of bytes; the next run continues."""
    database: Database = calls.database
    left = 0 if calls.settings.keeps_raw_archives else _MAX_BYTES_PER_RUN
    while left > 0 and (archive := await database.read(_find_session_to_mask)):
        left -= archive.bytes
        try:
            if not await rewrite_session(calls, archive, mask_lines_in_place, MASKING_VERSION):
                break
        except frames.DamagedArchive:
            damaged = replace(archive, masking_version=_DAMAGED_VERSION)
            await database.write(partial(store.update_archive, before=archive, after=damaged))
    left = _MAX_BYTES_PER_RUN
    while left > 0 and (archive := await database.write(_begin_next_study)):
        left -= archive.bytes
        try:
            await _restudy_session(database, calls.settings.archives, archive)
        except frames.DamagedArchive:
            await database.write(partial(store.update_study_behind, archive=archive, is_behind=False))


async def _find_session_to_mask(tx: Tx) -> ArchivedSession | None:
    return await store.find_archive_to_mask(tx, MASKING_VERSION, _DAMAGED_VERSION)


async def rewrite_session(
    calls: Any, archive: ArchivedSession, mask: MaskBytes, version: int | None = None
) -> bool:
    """Mask batch by batch, with the same offsets and lines; False if an upload changed the session meanwhile, so that a
    later run has to look at it again.

    `version` says which rules masked the session from then on. Without one, a line that is not complete yet is masked too.
    """
    at = 0
    while at < archive.bytes:
        loaded = await store.session_bytes(calls.database, calls.settings.archives, archive).load_frames(
            at, _FRAMES_PER_BATCH
        )
        batch = await _mask_batch(calls, archive, loaded, mask, masks_end=version is None)
        at = batch.next_byte
        added = sum(new.stored_bytes - old.stored_bytes for new, old in batch.changes)
        after = replace(
            archive,
            masking_version=version if at >= archive.bytes and version else archive.masking_version,
            masked_lines=archive.masked_lines + batch.masked_lines,
            compressed_bytes=archive.compressed_bytes + added,
        )
        if not await calls.database.write(partial(_write_batch, before=archive, after=after, batch=batch)):
            return False
        archive = after
    return True


@dataclass(frozen=True, slots=True)
class MaskedBatch:
    """Frames that changed, each with the one that it replaces, and where the next batch begins."""

    changes: list[tuple[StoredFrame, StoredFrame]]
    masked_lines: int
    next_byte: int


async def _mask_batch(
    calls: Any, archive: ArchivedSession, loaded: list[StoredFrame], mask: MaskBytes, *, masks_end: bool
) -> MaskedBatch:
    """Mask the complete lines of these frames; the next batch begins with the frame of the line that is cut."""
    if not loaded:
        raise frames.missing_frame(frames.FramePosition(0, archive.bytes, 0, 0))
    raw = b"".join([await frames.open_stored_frame(frame, calls.settings.archives) for frame in loaded])
    first, end = loaded[0].position.first_byte, loaded[-1].position.end
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
    spans = [
        (frame, slice(frame.position.first_byte - first, frame.position.end - first)) for frame in loaded
    ]
    changed = [(frame, safe[span]) for frame, span in spans if safe[span] != raw[span]]
    packed = await asyncio.to_thread(
        lambda: [frames.pack_frame(frame.position, content) for frame, content in changed]
    )
    written = await write_bodies_outside(calls, archive.project, packed)
    replaced = [frame for frame, _ in changed]
    return MaskedBatch(list(zip(written, replaced, strict=True)), masked.changed_lines, next_byte)


async def _write_batch(tx: Tx, before: ArchivedSession, after: ArchivedSession, batch: MaskedBatch) -> bool:
    """False, and nothing is written, if an upload changed the session since it was loaded."""
    if not await store.update_archive(tx, before, after):
        return False
    written = [new for new, _ in batch.changes]
    addresses = [frame.address for frame in written if frame.address]
    if addresses and not await store.claim_bodies(tx, before.project, addresses):
        raise errors.Unavailable("Bodies of masked frames were deleted as orphans.")
    await store.write_frames(tx, before, written)
    await store.insert_unwanted_bodies(tx, before.project, [old for _, old in batch.changes])
    return True


async def _begin_next_study(tx: Tx) -> ArchivedSession | None:
    """Take the next session and delete its old results."""
    key = await store.find_session_to_study(tx, STUDY_VERSION)
    archive = await store.find_archive(tx, *key) if key else None
    if archive is not None:
        await store.delete_study_results(tx, archive)
        await store.reset_study(tx, archive)
    return archive


async def _restudy_session(database: Database, storage: str, archive: ArchivedSession) -> None:
    first_line, state = 0, b""
    async for lines in _join_batches(store.session_bytes(database, storage, archive).read_all()):
        result = await asyncio.to_thread(study.study_lines, state, archive.tool, first_line, lines)

        async def save_batch(tx: Tx, result: StudyResult = result) -> None:
            current = await store.find_archive(tx, *archive.key)
            if current is not None:
                await save_study(tx, current, result)

        await database.write(save_batch)
        first_line, state = result.lines, result.state


async def _join_batches(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Complete lines, a bounded number of bytes at a time. A line that is longer than a batch is left empty."""
    pending: bytes = b""
    beginning: bytes | None = b""
    async for piece in pieces:
        pending += piece
        if len(pending) < _MAX_STUDIED_BYTES:
            continue
        end = pending.rfind(b"\n") + 1
        if (lines := study.join_complete_lines(beginning, pending[:end])) is not None:
            yield lines
        pending, beginning = (pending[end:], b"") if end else (b"", None)
    if (lines := await asyncio.to_thread(study.join_complete_lines, beginning, pending)) is not None:
        yield lines


async def delete_orphaned_bodies(calls: Any) -> None:
    """Delete bodies in the archive storage whose upload never committed: mark them as unusable, delete the files, delete
    the rows. A crash after any step leaves a consistent state."""
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
