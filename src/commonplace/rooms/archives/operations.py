"""Operations of this room. Slow work is outside of the transaction: `upload.py` and `session_search.py` prepare before it, pages and byte
spans are read after it.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

import msgspec
from pydantic import Field

from commonplace import errors
from commonplace.access import ALL_PROJECTS
from commonplace.arguments import ProjectOrAll, TimeArgument
from commonplace.call import Call
from commonplace.clock import iso
from commonplace.masking import MASKING_VERSION
from commonplace.operation import ALL_ARGUMENTS, operation
from commonplace.project import list_all_project_names
from commonplace.rooms.archives import model, session_search, store, upload
from commonplace.rooms.archives.contributes import SESSION_ARCHIVED
from commonplace.rooms.archives.upload import PreparedUpload, prepare_upload
from commonplace.rooms.workspaces import store as workspaces
from commonplace.rooms.workspaces.model import (
    Limit,
    SearchMode,
    SearchQuery,
    Sha256,
    Workspace,
    WorkspaceId,
    WriteToken,
)
from commonplace.transcripts.archive import pages
from commonplace.transcripts.archive.frames import FRAME_BYTES, FRAMES_PER_READ, ArchivedSession
from commonplace.transcripts.archive.line_scan import SessionMatches
from commonplace.transcripts.archive.pages import ByteSpan, PageRequest, PageView, read_span
from commonplace.transcripts.archive.upload import MAX_LINE_BYTES, ContentEncoding, ScreenedPart, wrong_offset

_FRAMES_OF_LINE = MAX_LINE_BYTES // FRAME_BYTES + 1

_upload_operation = operation(
    "upload_session",
    role="sync",
    writes=True,
    session=False,
    idempotent=True,
    prepare=prepare_upload,
    verbatim=ALL_ARGUMENTS,
)


@_upload_operation
async def upload_session(
    call: Call,
    workspace_id: WorkspaceId,
    write_token: WriteToken,
    session_id: Annotated[model.ArchivedSessionId, Field(description="The transcript's id.")],
    content: model.PartText | None = None,
    content_gzip_base64: model.EncodedPart | None = None,
    offset: model.ByteOffset = 0,
    tool: model.ToolName | None = None,
    started_at: TimeArgument | None = None,
    sha256: Sha256 | None = None,
) -> model.UploadReceipt:
    """Append to a session's transcript."""
    return await _store_part(call, workspace_id, write_token, session_id, tool, started_at)


@_upload_operation
async def upload_bytes(
    call: Call,
    workspace_id: WorkspaceId,
    write_token: WriteToken,
    session_id: model.ArchivedSessionId,
    body: model.PartBytes,
    encoding: ContentEncoding = "identity",
    offset: model.ByteOffset = 0,
    length: model.ByteLength | None = None,
    tool: model.ToolName | None = None,
    started_at: TimeArgument | None = None,
    sha256: Sha256 | None = None,
) -> model.UploadReceipt:
    """upload_session for programs that send bytes."""
    return await _store_part(call, workspace_id, write_token, session_id, tool, started_at)


async def _store_part(
    call: Call, workspace_id: str, write_token: str, session_id: str, tool: str | None, started_at: int | None
) -> model.UploadReceipt:
    prepared: PreparedUpload = call.prepared
    workspace = await workspaces.load_workspace(call.tx, workspace_id, call.caller)
    await workspaces.require_write_token(call.tx, workspace, write_token)
    call.project, call.subject = workspace.project, f"{workspace.id} {session_id}"
    before = prepared.before
    if before and not prepared.frames:
        return _build_receipt("duplicate", before)
    after = _extend_archive(
        call, before or _new_archive(call, workspace, session_id, tool, started_at), prepared
    )
    await _write_frames(call, before, after, prepared)
    await workspaces.update_workspace_activity(call.tx, workspace, call.now, sessions=int(before is None))
    await upload.save_study(call.tx, after, prepared.study)
    call.emit(SESSION_ARCHIVED, workspace.address, session_id=session_id, bytes=after.bytes)
    masked = prepared.screened.counts if prepared.screened else {}
    return _build_receipt("extended" if before else "stored", after, masked)


async def _write_frames(
    call: Call, before: ArchivedSession | None, after: ArchivedSession, prepared: PreparedUpload
) -> None:
    """The archive row decides between concurrent uploads; the loser is told how much is stored."""
    is_first = await (
        store.update_archive(call.tx, before, after) if before else store.insert_archive(call.tx, after)
    )
    if not is_first:
        current = await store.find_archive(call.tx, *after.key)
        raise wrong_offset(current.bytes if current else 0)
    if prepared.addresses and not await store.claim_bodies(call.tx, after.project, prepared.addresses):
        raise errors.Conflict(
            "The upload took so long that its frames were deleted as orphans.", hint="Send the part again."
        )
    await store.write_frames(call.tx, after, prepared.frames)
    await store.insert_unwanted_bodies(call.tx, after.project, prepared.replaced)


def _new_archive(
    call: Call, workspace: Workspace, session_id: str, tool: str | None, started_at: int | None
) -> ArchivedSession:
    start = call.now if started_at is None else started_at
    return ArchivedSession(
        workspace.project,
        workspace.id,
        session_id,
        tool or workspace.tool,
        title="",
        bytes=0,
        lines=0,
        line_start=0,
        compressed_bytes=0,
        sha256="",
        started_at=start,
        ended_at=max(start, call.now),
        created_at=call.now,
        updated_at=call.now,
        masking_version=MASKING_VERSION,
    )


def _extend_archive(call: Call, before: ArchivedSession, prepared: PreparedUpload) -> ArchivedSession:
    last, now = prepared.frames[-1].position, call.now
    screened = prepared.screened or ScreenedPart(0, b"", 0)
    call.mask.kinds.update(screened.counts)
    return replace(
        before,
        bytes=last.end,
        lines=last.lines_through,
        line_start=prepared.line_start,
        compressed_bytes=before.compressed_bytes + prepared.added_stored_bytes,
        sha256=prepared.sha256,
        ended_at=max(before.ended_at, now),
        updated_at=now,
        masking_version=0 if call.settings.keeps_raw_archives else before.masking_version,
        masked_lines=before.masked_lines + screened.masked_lines,
    )


def _build_receipt(
    status: model.UploadStatus, archive: ArchivedSession, masked: Mapping[str, int] | None = None
) -> model.UploadReceipt:
    return model.UploadReceipt(
        status=status,
        sha256=archive.sha256,
        lines=archive.total_lines,
        bytes=archive.bytes,
        compressed_bytes=archive.compressed_bytes,
        masked=dict(sorted((masked or {}).items())),
    )


async def _build_page(page: PageRequest) -> pages.ChatPage | pages.RawPage:
    return await (pages.build_chat_page if page.view == "chat" else pages.build_raw_page)(page)


@operation(
    "read_session",
    role="any",
    session="own",
    after_commit=_build_page,
    keywords="view, replay, messages, tool calls, old",
)
async def read_session(
    call: Call,
    workspace_id: WorkspaceId,
    session_id: Annotated[model.ArchivedSessionId, Field(description="From list_sessions.")],
    offset: model.LineNumber = 0,
    limit: model.LineLimit = 100,
    view: PageView = "chat",
    max_tokens: model.MaxTokens = 8000,
) -> PageRequest:
    """Read the transcript of a past session."""
    archive = await store.load_session(call, workspace_id, session_id)
    max_bytes = max_tokens * model.BYTES_PER_TOKEN
    frame_count = pages.FRAMES_PER_PAGE if view == "chat" else 2 + max_bytes // FRAME_BYTES
    study_state = await store.load_study_state(call.tx, archive) if view == "chat" else b""
    first_line = pages.find_first_line(study_state, offset)
    frames = (
        await store.list_frames_of_line(call.tx, archive, first_line, frame_count)
        if offset < archive.total_lines
        else []
    )
    return PageRequest(
        archive,
        frames,
        call.settings.archives,
        offset,
        limit,
        max_bytes,
        view,
        call.settings.keeps_raw_archives,
        study_state,
    )


@operation(
    "search_sessions",
    role="any",
    session="own",
    prepare=session_search.prepare_search,
    example={"query": "how did we fix ModuleNotFoundError yaml"},
    keywords="chat history, find old conversations, yesterday, what the user said, errors, fixes",
)
async def search_sessions(
    call: Call,
    query: SearchQuery,
    workspace_id: WorkspaceId | None = None,
    mode: SearchMode = "smart",
    since: Annotated[TimeArgument | None, Field(description="ISO time.")] = None,
    until: TimeArgument | None = None,
    limit: Limit = 20,
    per_session: model.MatchesOfSession = session_search.DEFAULT_MATCHES_PER_SESSION,
) -> SessionMatches:
    """Search transcripts of past sessions."""
    if isinstance(call.prepared, SessionMatches):
        return call.prepared
    session_query = await session_search.plan_query(
        call.tx, call.caller, query, workspace_id, since, until, limit, per_session
    )
    return await session_search.search_by_meaning(call, session_query)


@operation("read_session", role="any", session="own")
async def get_stored_session(
    call: Call, workspace_id: WorkspaceId, session_id: model.ArchivedSessionId
) -> model.StoredSession:
    """How much of a session is stored."""
    return model.StoredSession.from_archive(
        await store.load_session(call, workspace_id, session_id, exactly=True)
    )


@operation("read_session", role="any", session="own", after_commit=read_span)
async def read_bytes(
    call: Call,
    workspace_id: WorkspaceId,
    session_id: model.ArchivedSessionId,
    first: model.ByteOffset,
    end: model.ByteOffset,
) -> ByteSpan:
    """The bytes from `first` up to `end`, or fewer: at most as many as one read returns."""
    archive = await store.load_session(call, workspace_id, session_id, exactly=True)
    if not first < end <= archive.bytes:
        raise errors.Invalid(
            f"The session has bytes 0 to {archive.bytes}.",
            hint="Request a range within them.",
            bytes=archive.bytes,
        )
    count = FRAMES_PER_READ
    is_masked = archive.masking_version == MASKING_VERSION and first < archive.line_start
    if is_masked and not call.settings.keeps_raw_archives:
        end = min(end, archive.line_start)
    if call.settings.keeps_raw_archives or is_masked:
        loaded = await store.list_frames(call.tx, archive, first, count)
        frames = [frame for frame in loaded if frame.position.first_byte < end]
        return ByteSpan(first, min(end, frames[-1].position.end), call.settings.archives, frames)
    end = min(end, first + count * FRAME_BYTES)
    frames = await store.list_frames(
        call.tx, archive, max(0, first - MAX_LINE_BYTES), 2 * _FRAMES_OF_LINE + count
    )
    return ByteSpan(first, end, call.settings.archives, frames, is_masked=False)


_MAX_ERRORS = 100


@operation("memory_list_transcripts", role="readonly", session="optional", example={"project": "shop"})
async def list_transcripts(
    call: Call,
    project: Annotated[
        ProjectOrAll | None, Field(description="A project; left out or `*`, every project that you may see.")
    ] = None,
    workspace_id: WorkspaceId | None = None,
    since: TimeArgument | None = None,
    until: TimeArgument | None = None,
    limit: model.TranscriptLimit = 50,
) -> model.TranscriptPage:
    """List archived sessions of one project, or of all that the caller may see, the latest first."""
    projects = await list_projects_of_archives(call, project)
    latest = store.LATEST_TIME if until is None else until
    archives = await store.list_archives(call.tx, projects, workspace_id, since or 0, latest, limit)
    return model.TranscriptPage(
        count=len(archives),
        transcripts=[
            model.ListedTranscript(
                project=archive.project,
                workspace_id=archive.workspace,
                session_id=archive.session,
                title=archive.title,
                tool=archive.tool,
                started_at=iso(archive.started_at),
                ended_at=iso(archive.ended_at),
                lines=archive.total_lines,
                bytes=archive.bytes,
            )
            for archive in archives
        ],
    )


@operation(
    "memory_list_transcript_errors",
    role="readonly",
    session="own",
    example={"workspace_id": "laptop-claude-shop", "session_id": "6f1c2d3e-0000-4000-8000-000000000001"},
)
async def list_transcript_errors(
    call: Call, workspace_id: WorkspaceId, session_id: model.ArchivedSessionId
) -> model.TranscriptErrors:
    """List the errors of a transcript, by line, and what overcame each."""
    archive = await store.load_session(call, workspace_id, session_id)
    rows = await store.list_errors_of_session(call.tx, archive, _MAX_ERRORS)
    return model.TranscriptErrors(
        count=len(rows),
        errors=[
            model.TranscriptError(
                line=row["line"],
                text=row["text"],
                times=row["times"],
                command=row["command"],
                followed=msgspec.json.decode(row["followed"]),
                fixed_line=row["fixed_line"],
            )
            for row in rows
        ],
    )


async def list_projects_of_archives(call: Call, project: object) -> list[str]:
    """The named project, or every one whose archives the caller may read."""
    if isinstance(project, str):
        return [call.project]
    everywhere = ALL_PROJECTS in call.caller.projects
    return await list_all_project_names(call.tx) if everywhere else sorted(call.caller.projects)
