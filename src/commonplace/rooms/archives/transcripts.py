"""List transcripts of every workspace that the caller may read, and the errors that one of them met."""

from typing import Annotated, Any

import msgspec
from pydantic import Field

from commonplace.access import ALL_PROJECTS
from commonplace.arguments import TimeArgument
from commonplace.call import Call
from commonplace.clock import iso
from commonplace.operation import Reply, operation
from commonplace.project import list_all_project_names
from commonplace.rooms.archives import lookup, model, store, study_store
from commonplace.rooms.backlog.model import ProjectOrAll
from commonplace.rooms.workspaces.model import WorkspaceId

TranscriptLimit = Annotated[int, Field(ge=1, le=200)]
_LATEST_TIME = 2**62
_MAX_ERRORS = 100


class ListedTranscript(Reply):
    project: str
    workspace_id: str
    session_id: str
    title: str
    tool: str
    started_at: str
    ended_at: str
    lines: int
    bytes: int


class TranscriptPage(Reply):
    count: int
    transcripts: list[ListedTranscript]


class TranscriptError(Reply):
    line: int
    text: str
    times: int
    command: str = ""
    followed: list[Any] = []
    fixed_line: int = 0


class TranscriptErrors(Reply):
    count: int
    errors: list[TranscriptError]


@operation("memory_list_transcripts", role="readonly", session="optional", example={"project": "shop"})
async def list_transcripts(
    call: Call,
    project: ProjectOrAll | None = None,
    workspace_id: WorkspaceId | None = None,
    since: TimeArgument | None = None,
    until: TimeArgument | None = None,
    limit: TranscriptLimit = 50,
) -> TranscriptPage:
    """List archived sessions of one project, or of all that the caller may see, the latest first."""
    projects = await list_projects_of_archives(call, project)
    latest = _LATEST_TIME if until is None else until
    archives = await store.list_archives(call.tx, projects, workspace_id, since or 0, latest, limit)
    return TranscriptPage(
        count=len(archives),
        transcripts=[
            ListedTranscript(
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
) -> TranscriptErrors:
    """List the errors of a transcript, by line, and what overcame each."""
    archive = await lookup.find_session(call, workspace_id, session_id)
    rows = await study_store.list_errors_of_session(call.tx, archive, _MAX_ERRORS)
    return TranscriptErrors(
        count=len(rows),
        errors=[
            TranscriptError(
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
