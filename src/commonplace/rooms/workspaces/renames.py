"""Workspace bindings of an agent that gets another name."""

from commonplace.agent_names import AgentRename
from commonplace.project import list_all_project_names
from commonplace.store.database import Tx

_MOVED_BINDINGS = "project = any($1) and agent = $2 and (session = any($3) or (project = $4 and $5 = 1))"


async def move_bindings(tx: Tx, rename: AgentRename) -> None:
    """Bindings of the agent in its project, and those that the renamed sessions made anywhere; the later one stays."""
    moved = (
        await list_all_project_names(tx),
        rename.old,
        rename.sessions,
        rename.project,
        int(rename.moves_agent),
    )
    await tx.run(
        "insert into workspace_binding (project, agent, workspace, session, bound_at)"
        " select project, cast($6 as text), workspace, session, bound_at from workspace_binding"
        f" where {_MOVED_BINDINGS} on conflict (project, agent, workspace) do update set session = excluded.session,"
        " bound_at = excluded.bound_at where excluded.bound_at > workspace_binding.bound_at",
        *(*moved, rename.new),
    )
    await tx.run(f"delete from workspace_binding where {_MOVED_BINDINGS}", *moved)
