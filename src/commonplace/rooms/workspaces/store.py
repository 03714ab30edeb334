"""Tables of workspaces: the workspaces, the agents that are bound to them, and their write tokens.

Knowledge files are in `file_store.py`.
"""

import hashlib
import hmac
import itertools
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from commonplace import errors
from commonplace.access import ALL_PROJECTS, SHARED, Caller
from commonplace.rooms.workspaces.model import Workspace, suggest_workspace_id
from commonplace.store.database import Row, Tx

_SELECT_WORKSPACE = (
    "select project, id, machine, tool, summary, knowledge_count, session_count, last_activity from workspace"
)
_WHERE_FILTER = "project = any($1) and (CAST($2 as text) is null or machine = $2) and (CAST($3 as text) is null or tool = $3)"
_IDS_PER_QUERY = 50
_MAX_EQUAL_IDS = 1000


@dataclass(frozen=True, slots=True)
class WorkspaceFilter:
    """Workspaces of these projects, and of this machine and tool unless None."""

    projects: list[str]
    machine: str | None = None
    tool: str | None = None

    @property
    def sql_parameters(self) -> tuple[list[str], str | None, str | None]:
        return self.projects, self.machine, self.tool


async def load_workspace(tx: Tx, workspace_id: str, caller: Caller) -> Workspace:
    """The workspace, if the caller may read its project. Otherwise the refusal is the same as if it did not exist."""
    located = await tx.one("select project from workspace_place where id = $1", workspace_id)
    if located is not None and _can_read(caller, located["project"]):
        row = await tx.one(
            f"{_SELECT_WORKSPACE} where project = $1 and id = $2", located["project"], workspace_id
        )
        if row is not None:
            return _workspace_from_row(row, caller)
    raise errors.NotFound(
        f"There is no workspace '{workspace_id}'.", hint="Call list_workspaces to see the workspaces."
    )


async def list_visible_projects(tx: Tx, caller: Caller) -> list[str]:
    """The projects that have workspaces and that the caller may read."""
    if ALL_PROJECTS not in caller.projects:
        return sorted({*caller.projects, SHARED})
    return [row["project"] for row in await tx.all("select distinct project from workspace_place")]


async def list_workspaces(
    tx: Tx, filter_: WorkspaceFilter, caller: Caller, limit: int, offset: int = 0
) -> tuple[list[Workspace], int]:
    """One page of workspaces, most recently active first, and the total count."""
    total = await tx.one(
        f"select count(*) as n from workspace where {_WHERE_FILTER}", *filter_.sql_parameters
    )
    rows = await tx.all(
        f"{_SELECT_WORKSPACE} where {_WHERE_FILTER} order by last_activity desc, id limit $4 offset $5",
        *filter_.sql_parameters,
        limit,
        offset,
    )
    return [_workspace_from_row(row, caller) for row in rows], total["n"] if total else 0


async def find_workspace(tx: Tx, project: str, machine: str, tool: str, caller: Caller) -> Workspace | None:
    row = await tx.one(
        f"{_SELECT_WORKSPACE} where project = $1 and machine = $2 and tool = $3", project, machine, tool
    )
    return _workspace_from_row(row, caller) if row else None


async def insert_workspace(
    tx: Tx, project: str, machine: str, tool: str, caller: Caller, now: int
) -> Workspace:
    """Insert a workspace with an id that is unique over all projects."""
    workspace_id = await _claim_free_id(tx, project, suggest_workspace_id(machine, tool, project))
    await tx.run(
        "insert into workspace (project, id, machine, tool, summary, knowledge_count, session_count, created_at,"
        " last_activity) values ($1, $2, $3, $4, '', 0, 0, $5, $5)",
        project,
        workspace_id,
        machine,
        tool,
        now,
    )
    return _workspace_from_row(
        {
            "project": project,
            "id": workspace_id,
            "machine": machine,
            "tool": tool,
            "summary": "",
            "knowledge_count": 0,
            "session_count": 0,
            "last_activity": now,
        },
        caller,
    )


async def _claim_free_id(tx: Tx, project: str, suggested_id: str) -> str:
    if await _claim_id(tx, project, suggested_id):
        return suggested_id
    ids = (f"{suggested_id}-{n}" for n in range(2, _MAX_EQUAL_IDS))
    while candidates := list(itertools.islice(ids, _IDS_PER_QUERY)):
        rows = await tx.all("select id from workspace_place where id = any($1)", candidates)
        taken = {row["id"] for row in rows}
        for candidate in candidates:
            if candidate not in taken and await _claim_id(tx, project, candidate):
                return candidate
    raise errors.TooMany(
        f"There are too many workspaces named '{suggested_id}'.", hint="Use another machine name."
    )


async def _claim_id(tx: Tx, project: str, workspace_id: str) -> bool:
    """The primary key decides if another server claims the same id."""
    row = await tx.one(
        "insert into workspace_place (id, project) values ($1, $2) on conflict (id) do nothing returning id",
        workspace_id,
        project,
    )
    return row is not None


async def update_workspace_activity(
    tx: Tx, workspace: Workspace, now: int, *, sessions: int = 0, knowledge: int = 0
) -> None:
    """Record a write; `sessions` and `knowledge` are the changes of the counts."""
    await tx.run(
        "update workspace set session_count = session_count + $3, knowledge_count = knowledge_count + $4,"
        " last_activity = case when last_activity < $5 then $5 else last_activity end"
        " where project = $1 and id = $2",
        workspace.project,
        workspace.id,
        sessions,
        knowledge,
        now,
    )


async def update_workspace_summary(tx: Tx, workspace: Workspace, summary: str) -> None:
    await tx.run(
        "update workspace set summary = $3 where project = $1 and id = $2",
        workspace.project,
        workspace.id,
        summary,
    )


async def bind_agent(tx: Tx, workspace: Workspace, agent: str, session: str, now: int) -> None:
    await tx.run(
        "insert into workspace_binding (project, agent, workspace, session, bound_at) values ($1, $2, $3, $4, $5)"
        " on conflict (project, agent, workspace) do update set session = excluded.session,"
        " bound_at = excluded.bound_at",
        workspace.project,
        agent,
        workspace.id,
        session,
        now,
    )


async def unbind_agent(tx: Tx, workspace: Workspace, agent: str) -> bool:
    """False if the agent was not bound."""
    changed = await tx.run(
        "delete from workspace_binding where project = $1 and agent = $2 and workspace = $3",
        workspace.project,
        agent,
        workspace.id,
    )
    return changed > 0


async def is_agent_bound(tx: Tx, workspace: Workspace, agent: str) -> bool:
    row = await tx.one(
        "select 1 as yes from workspace_binding where project = $1 and agent = $2 and workspace = $3",
        workspace.project,
        agent,
        workspace.id,
    )
    return row is not None


async def find_latest_workspace_id(tx: Tx, projects: Sequence[str], agent: str, session: str) -> str | None:
    """The workspace that this session registered, or the one that its agent registered last."""
    row = await tx.one(
        "select workspace from workspace_binding where project = any($1) and agent = $2"
        " order by case when session = $3 then 0 else 1 end, bound_at desc, workspace limit 1",
        list(projects),
        agent,
        session,
    )
    return row["workspace"] if row else None


def generate_write_token() -> str:
    return f"cwt_{secrets.token_urlsafe(32)}"


def _hash_token(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


async def has_write_token(tx: Tx, workspace: Workspace) -> bool:
    """True also for a revoked token: a new one is issued only on request."""
    row = await tx.one(
        "select 1 as yes from workspace_token where project = $1 and workspace = $2",
        workspace.project,
        workspace.id,
    )
    return row is not None


async def find_token_holder(tx: Tx, workspace: Workspace, now: int) -> str:
    """The key that the valid write token was issued to; empty if there is none, or that key is revoked or expired."""
    row = await tx.one(
        "select given_to from workspace_token where project = $1 and workspace = $2 and revoked_at is null"
        " and given_to not in (select id from api_key where revoked_at is not null or expires_at <= $3)",
        workspace.project,
        workspace.id,
        now,
    )
    return str(row["given_to"]) if row else ""


async def replace_write_token(tx: Tx, workspace: Workspace, token: str, issued_to: str, now: int) -> None:
    """Replace the write token of a workspace."""
    await tx.run(
        "insert into workspace_token (project, workspace, hash, given_at, given_to, revoked_at)"
        " values ($1, $2, $3, $4, $5, null) on conflict (project, workspace) do update set hash = excluded.hash,"
        " given_at = excluded.given_at, given_to = excluded.given_to, revoked_at = null",
        workspace.project,
        workspace.id,
        _hash_token(token),
        now,
        issued_to,
    )


async def revoke_write_token(tx: Tx, workspace: Workspace, now: int) -> bool:
    """False if there was no valid token."""
    changed = await tx.run(
        "update workspace_token set revoked_at = $3 where project = $1 and workspace = $2 and revoked_at is null",
        workspace.project,
        workspace.id,
        now,
    )
    return changed > 0


async def require_write_token(tx: Tx, workspace: Workspace, write_token: str) -> None:
    """Refuse the call if the key may not write to the workspace, or the token is wrong or revoked."""
    require_writable(workspace)
    row = await tx.one(
        "select hash from workspace_token where project = $1 and workspace = $2 and revoked_at is null",
        workspace.project,
        workspace.id,
    )
    if not hmac.compare_digest(row["hash"] if row else "", _hash_token(write_token)):
        raise errors.Forbidden(
            "This is not the valid write token of this workspace.",
            hint="Call register_workspace with rotate=true to get a new one.",
        )


def require_writable(workspace: Workspace) -> None:
    if not workspace.writable:
        raise errors.Forbidden(
            f"This key may not write to the workspace '{workspace.id}'.",
            hint="Ask an owner for a key for this project, machine or workspace.",
        )


def _can_read(caller: Caller, project: str) -> bool:
    return project == SHARED or caller.sees_project(project)


def _workspace_from_row(row: Row, caller: Caller) -> Workspace:
    writable = caller.sees_project(row["project"]) and caller.can_write_workspace(row["machine"], row["id"])
    return Workspace(**row, writable=writable)
