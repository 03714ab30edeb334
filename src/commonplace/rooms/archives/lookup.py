"""Find one archived session of a workspace, or list them, and assign the call to the project of the workspace."""

from commonplace.call import Call
from commonplace.rooms.archives import model, store
from commonplace.rooms.workspaces import store as workspaces
from commonplace.transcripts.archive.frames import ArchivedSession

_LATEST_TIME = 2**62
_DEFAULT_LIMIT = 20


async def find_session(call: Call, workspace_id: str, session_id: str) -> ArchivedSession:
    """Find a session by its id or a unique prefix of it, if the caller may read its project."""
    workspace = await workspaces.load_workspace(call.tx, workspace_id, call.caller)
    key = workspace.project, workspace.id
    call.project = workspace.project
    archive = await store.find_archive(call.tx, *key, session_id)
    if archive is None and (full_id := await store.find_session_id(call.tx, *key, session_id)):
        archive = await store.find_archive(call.tx, *key, full_id)
    if archive is None:
        raise model.session_not_found(workspace.id, session_id)
    return archive


async def load_session_exactly(call: Call, workspace_id: str, session_id: str) -> ArchivedSession:
    """Load a session by its full id: a program that continues an upload must not get another session."""
    workspace = await workspaces.load_workspace(call.tx, workspace_id, call.caller)
    call.project = workspace.project
    archive = await store.find_archive(call.tx, workspace.project, workspace.id, session_id)
    if archive is None:
        raise model.session_not_found(workspace.id, session_id)
    return archive


async def list_archived_sessions(
    call: Call, workspace_id: str, since: int | None, until: int | None, limit: int | None, offset: int
) -> model.ArchivedSessions:
    workspace = await workspaces.load_workspace(call.tx, workspace_id, call.caller)
    call.project = workspace.project
    total, archives = await store.list_archives_of_workspace(
        call.tx,
        workspace.project,
        workspace.id,
        since or 0,
        _LATEST_TIME if until is None else until,
        limit or _DEFAULT_LIMIT,
        offset,
    )
    return model.ArchivedSessions(
        total=total, sessions=[model.ListedSession.from_archive(archive) for archive in archives]
    )
