"""A session of a workspace, found by its id; and all of them, latest first."""

from commonplace.call import Call
from commonplace.rooms.archives import model, store
from commonplace.rooms.workspaces import store as workspaces
from commonplace.session_archive.archive import Archive

_EVER = 2**62
_LIMIT = 20


async def find(call: Call, workspace_id: str, session_id: str) -> Archive:
    """The archive, by its id or the beginning of it, if the caller may read its project; the call then belongs there."""
    workspace = await workspaces.workspace(call.tx, workspace_id, call.caller)
    place = workspace.project, workspace.id
    call.project = workspace.project
    found = await store.archive(call.tx, *place, session_id)
    if found is None and (whole := await store.whole_id(call.tx, *place, session_id)):
        found = await store.archive(call.tx, *place, whole)
    if found is None:
        raise model.unknown(workspace.id, session_id)
    return found


async def exactly(call: Call, workspace_id: str, session_id: str) -> Archive:
    """The same by its whole id: a program that goes on with an upload must not be told of another session."""
    workspace = await workspaces.workspace(call.tx, workspace_id, call.caller)
    call.project = workspace.project
    found = await store.archive(call.tx, workspace.project, workspace.id, session_id)
    if found is None:
        raise model.unknown(workspace.id, session_id)
    return found


async def listed(
    call: Call, workspace_id: str, since: int | None, until: int | None, limit: int | None, offset: int
) -> model.Listing:
    workspace = await workspaces.workspace(call.tx, workspace_id, call.caller)
    call.project = workspace.project
    total, archives = await store.page(
        call.tx,
        workspace.project,
        workspace.id,
        since or 0,
        _EVER if until is None else until,
        limit or _LIMIT,
        offset,
    )
    return model.Listing(total=total, sessions=[model.Listed.of(each) for each in archives])
