"""A session of a workspace, found by its id; and all of them, latest first."""

from commonplace.call import Call
from commonplace.rooms.archives import model, store
from commonplace.rooms.workspaces import store as workspaces
from commonplace.session_archive.archive import ArchivedSession

_LATEST_TIME = 2**62
_DEFAULT_LIMIT = 20


async def find_session(call: Call, workspace_id: str, session_id: str) -> ArchivedSession:
    """The archive, by its id or the beginning of it, if the caller may read its project; the call then belongs there."""
    workspace = await workspaces.load_workspace(call.tx, workspace_id, call.caller)
    place = workspace.project, workspace.id
    call.project = workspace.project
    found = await store.find_archive(call.tx, *place, session_id)
    if found is None and (whole := await store.find_session_id(call.tx, *place, session_id)):
        found = await store.find_archive(call.tx, *place, whole)
    if found is None:
        raise model.session_not_found(workspace.id, session_id)
    return found


async def load_session_exactly(call: Call, workspace_id: str, session_id: str) -> ArchivedSession:
    """The same by its whole id: a program that goes on with an upload must not be told of another session."""
    workspace = await workspaces.load_workspace(call.tx, workspace_id, call.caller)
    call.project = workspace.project
    found = await store.find_archive(call.tx, workspace.project, workspace.id, session_id)
    if found is None:
        raise model.session_not_found(workspace.id, session_id)
    return found


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
        total=total, sessions=[model.ListedSession.from_archive(each) for each in archives]
    )
