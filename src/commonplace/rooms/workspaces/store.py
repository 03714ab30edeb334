"""Workspaces in the store: where each is, who is bound to it, and the token that may write to it."""

import hashlib
import hmac
import itertools
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from commonplace import errors
from commonplace.access import EVERY, SHARED, Caller
from commonplace.rooms.workspaces.model import Workspace, label
from commonplace.store.database import Row, Tx

_WORKSPACE = (
    "select project, id, machine, tool, summary, knowledge_count, session_count, last_activity from workspace"
)
_SEEN = "project = any($1) and (CAST($2 as text) is null or machine = $2) and (CAST($3 as text) is null or tool = $3)"
_ALIKE = 50
_MOST_ALIKE = 1000


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which workspaces: of these projects, and of this machine and tool if they are given."""

    projects: list[str]
    machine: str | None = None
    tool: str | None = None

    @property
    def values(self) -> tuple[list[str], str | None, str | None]:
        return self.projects, self.machine, self.tool


async def workspace(tx: Tx, workspace_id: str, caller: Caller) -> Workspace:
    """The workspace, if the caller may read its project; a foreign one is answered like one that never was."""
    place = await tx.one("select project from workspace_place where id = $1", workspace_id)
    if place is not None and _reads(caller, place["project"]):
        row = await tx.one(f"{_WORKSPACE} where project = $1 and id = $2", place["project"], workspace_id)
        if row is not None:
            return _workspace(row, caller)
    raise errors.NotFound(f"There is no workspace '{workspace_id}'.", hint="list_workspaces names them all.")


async def visible_projects(tx: Tx, caller: Caller) -> list[str]:
    """The projects that have workspaces and that the caller may read."""
    if EVERY not in caller.projects:
        return sorted({*caller.projects, SHARED})
    return [row["project"] for row in await tx.all("select distinct project from workspace_place")]


async def page(
    tx: Tx, wanted: Wanted, caller: Caller, limit: int, offset: int = 0
) -> tuple[list[Workspace], int]:
    """The latest active first, and how many there are in all."""
    total = await tx.one(f"select count(*) as n from workspace where {_SEEN}", *wanted.values)
    rows = await tx.all(
        f"{_WORKSPACE} where {_SEEN} order by last_activity desc, id limit $4 offset $5",
        *wanted.values,
        limit,
        offset,
    )
    return [_workspace(row, caller) for row in rows], total["n"] if total else 0


async def of_triple(tx: Tx, project: str, machine: str, tool: str, caller: Caller) -> Workspace | None:
    row = await tx.one(
        f"{_WORKSPACE} where project = $1 and machine = $2 and tool = $3", project, machine, tool
    )
    return _workspace(row, caller) if row else None


async def add(tx: Tx, project: str, machine: str, tool: str, caller: Caller, now: int) -> Workspace:
    """A workspace under a label that no other has, in any project."""
    identity = await _free_label(tx, project, label(machine, tool, project))
    await tx.run(
        "insert into workspace (project, id, machine, tool, summary, knowledge_count, session_count, created_at,"
        " last_activity) values ($1, $2, $3, $4, '', 0, 0, $5, $5)",
        project,
        identity,
        machine,
        tool,
        now,
    )
    return _workspace(
        {
            "project": project,
            "id": identity,
            "machine": machine,
            "tool": tool,
            "summary": "",
            "knowledge_count": 0,
            "session_count": 0,
            "last_activity": now,
        },
        caller,
    )


async def _free_label(tx: Tx, project: str, wanted: str) -> str:
    names = (wanted if n == 1 else f"{wanted}-{n}" for n in range(1, _MOST_ALIKE))
    while few := list(itertools.islice(names, _ALIKE)):
        rows = await tx.all("select id from workspace_place where id = any($1)", few)
        taken = {row["id"] for row in rows}
        for name in (name for name in few if name not in taken):
            if await _take(tx, project, name):
                return name
    raise errors.TooMany(f"Too many workspaces are called '{wanted}'.", hint="Give the machine another name.")


async def _take(tx: Tx, project: str, name: str) -> bool:
    """Another server may take it at the same moment: the key decides."""
    row = await tx.one(
        "insert into workspace_place (id, project) values ($1, $2) on conflict (id) do nothing returning id",
        name,
        project,
    )
    return row is not None


async def touch(tx: Tx, workspace: Workspace, now: int, *, sessions: int = 0, knowledge: int = 0) -> None:
    """Something was written there; so many sessions and files are there more than before."""
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


async def summarise(tx: Tx, workspace: Workspace, summary: str) -> None:
    await tx.run(
        "update workspace set summary = $3 where project = $1 and id = $2",
        workspace.project,
        workspace.id,
        summary,
    )


async def bind(tx: Tx, workspace: Workspace, agent: str, session: str, now: int) -> None:
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


async def unbind(tx: Tx, workspace: Workspace, agent: str) -> bool:
    """Whether the agent was bound."""
    changed = await tx.run(
        "delete from workspace_binding where project = $1 and agent = $2 and workspace = $3",
        workspace.project,
        agent,
        workspace.id,
    )
    return changed > 0


async def is_bound(tx: Tx, workspace: Workspace, agent: str) -> bool:
    row = await tx.one(
        "select 1 as yes from workspace_binding where project = $1 and agent = $2 and workspace = $3",
        workspace.project,
        agent,
        workspace.id,
    )
    return row is not None


async def latest_binding(tx: Tx, projects: Sequence[str], agent: str, session: str) -> str | None:
    """The workspace that this session registered, else the one that its agent registered last."""
    row = await tx.one(
        "select workspace from workspace_binding where project = any($1) and agent = $2"
        " order by case when session = $3 then 0 else 1 end, bound_at desc, workspace limit 1",
        list(projects),
        agent,
        session,
    )
    return row["workspace"] if row else None


def mint_token() -> str:
    return f"cwt_{secrets.token_urlsafe(32)}"


def _hashed(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


async def has_token(tx: Tx, workspace: Workspace) -> bool:
    """Was one given, even if it was revoked since? Then another is given only on request."""
    row = await tx.one(
        "select 1 as yes from workspace_token where project = $1 and workspace = $2",
        workspace.project,
        workspace.id,
    )
    return row is not None


async def set_token(tx: Tx, workspace: Workspace, token: str, given_to: str, now: int) -> None:
    """From now on this token writes there, and no other."""
    await tx.run(
        "insert into workspace_token (project, workspace, hash, given_at, given_to, revoked_at)"
        " values ($1, $2, $3, $4, $5, null) on conflict (project, workspace) do update set hash = excluded.hash,"
        " given_at = excluded.given_at, given_to = excluded.given_to, revoked_at = null",
        workspace.project,
        workspace.id,
        _hashed(token),
        now,
        given_to,
    )


async def revoke_token(tx: Tx, workspace: Workspace, now: int) -> bool:
    """Whether there was a live one."""
    changed = await tx.run(
        "update workspace_token set revoked_at = $3 where project = $1 and workspace = $2 and revoked_at is null",
        workspace.project,
        workspace.id,
        now,
    )
    return changed > 0


async def check_token(tx: Tx, workspace: Workspace, write_token: str) -> None:
    """Refuse whoever may not write there: by the limits of the key, or because the token is another's or revoked."""
    require_writable(workspace)
    row = await tx.one(
        "select hash from workspace_token where project = $1 and workspace = $2 and revoked_at is null",
        workspace.project,
        workspace.id,
    )
    if not hmac.compare_digest(row["hash"] if row else "", _hashed(write_token)):
        raise errors.Forbidden(
            "This is not the live write token of this workspace.",
            hint="register_workspace with rotate=true gives another to a sync key.",
        )


def require_writable(workspace: Workspace) -> None:
    if not workspace.writable:
        raise errors.Forbidden(
            f"This key may not write to the workspace '{workspace.id}'.",
            hint="Ask an owner for a key with this project, machine or workspace.",
        )


def _reads(caller: Caller, project: str) -> bool:
    return project == SHARED or caller.sees(project)


def _workspace(row: Row, caller: Caller) -> Workspace:
    writable = caller.sees(row["project"]) and caller.carries(row["machine"], row["id"])
    return Workspace(**row, writable=writable)
