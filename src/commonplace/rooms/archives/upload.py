"""Prepare the upload of one part of a session before the transaction that stores it, and save what was studied of it.

Decoding, hashing, compressing and studying take long, so they run here, in threads. `operations.py` checks access
again and writes what is prepared.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from commonplace import errors
from commonplace.access import Caller
from commonplace.rooms.archives import store
from commonplace.rooms.journals import store as journals
from commonplace.rooms.sessions import store as sessions
from commonplace.rooms.workspaces import store as workspaces
from commonplace.rooms.workspaces.model import Workspace
from commonplace.search import index
from commonplace.shortening import shorten_text
from commonplace.store.database import Database, Tx
from commonplace.transcripts.archive import frame_storage, upload
from commonplace.transcripts.archive.frames import ArchivedSession, PackedFrame, SessionBytes, StoredFrame
from commonplace.transcripts.archive.study import PassagePiece, StudyResult
from commonplace.transcripts.archive.upload import ScreenedPart, UploadedPart, list_secret_kinds, screen_part

_TITLE_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class StoredState:
    """What the store has of the session before this part."""

    workspace: Workspace
    archive: ArchivedSession | None = None
    last_frame: StoredFrame | None = None
    study_state: bytes = b""

    @property
    def bytes(self) -> int:
        return self.archive.bytes if self.archive else 0


@dataclass(frozen=True, slots=True)
class PreparedUpload:
    """What the transaction has to write. Without frames, everything is stored already."""

    before: ArchivedSession | None
    frames: list[StoredFrame]
    sha256: str = ""
    line_start: int = 0
    replaced: list[StoredFrame] = field(default_factory=list)
    study: StudyResult | None = None
    screened: ScreenedPart | None = None

    @property
    def addresses(self) -> list[str]:
        return [frame.address for frame in self.frames if frame.address]

    @property
    def added_stored_bytes(self) -> int:
        return sum(frame.stored_bytes for frame in self.frames) - sum(
            frame.stored_bytes for frame in self.replaced
        )


async def prepare_upload(calls: Any, arguments: Mapping[str, Any], caller: Caller) -> PreparedUpload:
    """Do everything that takes long. The transaction checks again what this allows."""
    database: Database = calls.database
    before = await database.read(lambda tx: _load_stored_state(tx, arguments, caller))
    if arguments["offset"] > before.bytes:
        raise upload.wrong_offset(before.bytes)
    part = UploadedPart(arguments["offset"], await asyncio.to_thread(_decode_content, arguments))
    upload.validate_size(part, arguments.get("length"))
    archive, storage = before.archive, calls.settings.archives
    stored = store.session_bytes(database, storage, archive) if archive else None
    if archive and stored and part.offset < archive.bytes:
        upload.validate_sha256(arguments["sha256"], part, archive.sha256, is_exact=not archive.masked_lines)
        await upload.require_same_bytes(stored, part)
        return PreparedUpload(archive, [])
    sha256, is_exact = await upload.extend_digest(stored, part.content)
    upload.validate_sha256(arguments["sha256"], part, sha256, is_exact=is_exact)
    if calls.settings.secrets == "refuse":
        await _refuse_secrets(stored, part)
    screened = await screen_part(
        stored, part.offset, part.content, keeps_secrets=calls.settings.keeps_raw_archives
    )
    packed, replaced = await upload.pack_part(stored, before.last_frame, screened)
    frames = await write_bodies_outside(calls, before.workspace.project, packed)
    tool = archive.tool if archive else before.workspace.tool
    study = await upload.study_part(archive, before.study_state, tool, screened)
    return PreparedUpload(
        archive,
        frames,
        sha256,
        _find_line_start(archive, part),
        replaced,
        study,
        screened,
    )


async def _refuse_secrets(stored: SessionBytes | None, part: UploadedPart) -> None:
    if kinds := await list_secret_kinds(stored, part.content):
        raise errors.Invalid(
            f"The transcript contains a secret ({', '.join(kinds)}).",
            hint="Mask it before sending: `commonplace sync` does so unless it is given --raw.",
        )


async def _load_stored_state(tx: Tx, arguments: Mapping[str, Any], caller: Caller) -> StoredState:
    workspace = await workspaces.load_workspace(tx, arguments["workspace_id"], caller)
    await workspaces.require_write_token(tx, workspace, arguments["write_token"])
    archive = await store.find_archive(tx, workspace.project, workspace.id, arguments["session_id"])
    if archive is None:
        return StoredState(workspace)
    last_frame = await store.find_last_frame(tx, archive)
    return StoredState(workspace, archive, last_frame, await store.load_study_state(tx, archive))


def _decode_content(arguments: Mapping[str, Any]) -> bytes:
    if arguments.get("body") is not None:
        return upload.decode_binary_content(arguments["body"], arguments["encoding"])
    return upload.decode_text_content(arguments["content"], arguments["content_gzip_base64"])


def _find_line_start(archive: ArchivedSession | None, part: UploadedPart) -> int:
    """Where the unfinished last line begins once this part is stored."""
    after_newline = part.content.rfind(b"\n") + 1
    if after_newline:
        return part.offset + after_newline
    return archive.line_start if archive else 0


async def write_bodies_outside(calls: Any, project: str, packed: list[PackedFrame]) -> list[StoredFrame]:
    """Write bodies of full frames to the archive storage, if one is set. The last frame is rewritten by every append, so
    its body stays in the database."""
    storage = frame_storage.open_frame_storage(calls.settings.archives)
    frames = [
        StoredFrame(
            frame.position,
            frame.sha256,
            frame_storage.new_body_name(project, frame.sha256) if storage and frame.position.is_full else "",
            frame.body,
            len(frame.body),
        )
        for frame in packed
    ]
    bodies = {frame.address: frame.body for frame in frames if frame.address}
    if storage is None or not bodies:
        return frames
    now = calls.clock()
    await calls.database.write(lambda tx: store.insert_announced_bodies(tx, project, list(bodies), now))
    for address, body in bodies.items():
        await asyncio.to_thread(storage.write_body, address, body)
    return [replace(frame, body=b"") if frame.address else frame for frame in frames]


async def save_study(tx: Tx, archive: ArchivedSession, result: StudyResult | None) -> None:
    """Save what was studied together with the lines themselves; lines that were not studied are marked for later."""
    if result is None:
        return
    if not (result.state and await store.advance_study(tx, archive, result)):
        if not await store.update_study_behind(tx, archive, is_behind=True):
            await store.reset_study(tx, archive)
        return
    title = result.summary.title if result.summary else ""
    title = shorten_text(title or archive.title, _TITLE_CHARACTERS)
    if result.summary and result.summary.format:
        await store.update_session_description(
            tx, archive, title, result.summary.started_at, result.summary.ended_at
        )
    passages = [(str(passage.number), body) for passage, body, _ in result.passages]
    prompts = [(_name_prompt(prompt), body) for prompt, body, _ in result.prompts]
    await store.write_passages(tx, archive, passages + prompts)
    await store.write_errors(tx, archive, [error for error, _ in result.errors])
    if result.dropped_fingerprints:
        await store.delete_errors(tx, archive, result.dropped_fingerprints)
    await index.put_entries(tx, list(_list_index_entries(archive, result, title)))
    session = ""
    if result.session_id:
        session = await sessions.find_session_digest(tx, archive.project, result.session_id) or ""
    if session:
        await store.update_agent_session(tx, archive, session)
    if result.journal and result.journal.task:
        await journals.save_transcript_journal(
            tx, archive.project, archive.session, archive.tool, session, result.journal
        )


def _list_index_entries(
    archive: ArchivedSession, result: StudyResult, title: str
) -> Iterator[index.IndexEntry]:
    """The type of an entry is its workspace, so that a search in one workspace reads no other entries."""

    def build_entry(
        name: object, at: int | None, counted: Counter[str], title: str, kind: str = index.TRANSCRIPT_KIND
    ) -> index.IndexEntry:
        entry_id = store.build_entry_id(archive, name)
        changed_at = archive.ended_at if at is None else at
        return index.IndexEntry(
            archive.project, kind, entry_id, archive.workspace, title, "", changed_at, counted=counted
        )

    for passage, _, counted in result.passages:
        yield build_entry(passage.number, passage.at, counted, title)
    for prompt, _, counted in result.prompts:
        yield build_entry(_name_prompt(prompt), prompt.at, counted, "", index.PROMPT_KIND)
    for error, counted in result.errors:
        yield build_entry(error.fingerprint, error.at, counted, error.text[:_TITLE_CHARACTERS])


def _name_prompt(prompt: PassagePiece) -> str:
    return f"q{prompt.line}"
