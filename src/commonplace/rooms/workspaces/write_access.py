"""Which workspace the caller may write to: the one it is bound to, or the one that its write token belongs to."""

from commonplace import errors
from commonplace.call import Call
from commonplace.rooms.workspaces import store
from commonplace.rooms.workspaces.model import Workspace

_LOCAL_WRITER = "local"


def name_writer(call: Call) -> str:
    """The name that a workspace is bound to: the caller's agent, or its key if it has no agent."""
    return (call.session.agent if call.session else call.caller.agent) or call.caller.key or _LOCAL_WRITER


def name_author_of_file(author: str) -> str:
    """The author of a text, as it is shown; empty for a program of this machine without an agent."""
    return "" if author == _LOCAL_WRITER else author


def session_id_of(call: Call) -> str:
    return call.session.id if call.session else ""


async def require_own_workspace(call: Call, workspace_id: str | None) -> Workspace:
    """The named workspace, or the one the caller registered last; refused unless the caller is bound to it."""
    selected_id = workspace_id or await find_own_workspace_id(call)
    if selected_id is None:
        raise errors.NotFound("You have no workspace yet.", hint="Call register_workspace first.")
    workspace = await store.load_workspace(call.tx, selected_id, call.caller)
    store.require_writable(workspace)
    if not await store.is_agent_bound(call.tx, workspace, name_writer(call)):
        raise errors.Forbidden(
            f"The workspace '{workspace.id}' belongs to another agent.",
            hint="Leave workspace_id out to write to your own; register_workspace binds you to one.",
        )
    call.project = workspace.project
    return workspace


async def require_own_token(call: Call, workspace: Workspace) -> None:
    """Refuse to replace the write token that another key uses. A sync key may: it is made for uploads of a machine."""
    holder = await store.find_token_holder(call.tx, workspace, call.now)
    if holder in ("", call.caller.key):
        return
    raise errors.Forbidden(
        f"The write token of '{workspace.id}' was issued to another key.",
        hint=f"Use that key, or ask an admin to revoke the token: commonplace key revoke-writer {workspace.id}",
    )


async def require_workspace_of_token(call: Call, workspace_id: str, write_token: str) -> Workspace:
    workspace = await store.load_workspace(call.tx, workspace_id, call.caller)
    await store.require_write_token(call.tx, workspace, write_token)
    call.project = workspace.project
    return workspace


async def find_own_workspace_id(call: Call) -> str | None:
    projects = await store.list_visible_projects(call.tx, call.caller)
    return await store.find_latest_workspace_id(call.tx, projects, name_writer(call), session_id_of(call))
