"""Sessions and seats of an agent that gets another name."""

from commonplace.agent_names import AgentRename
from commonplace.store.database import Tx


async def rename_sessions(tx: Tx, rename: AgentRename) -> None:
    """Rename the sessions; with the agent also those that ended, its sub-agents' parent, and the name of its seats."""
    names = (rename.project, rename.old, rename.new)
    if not rename.moves_agent:
        await tx.queue(
            "update session set agent = $3 where project = $1 and agent = $2 and id = any($4)",
            *(*names, rename.sessions),
        )
        return
    await tx.queue(
        "update session set agent = $3 where project = $1 and agent = $2"
        " and (ended_at is not null or id = any($4))",
        *(*names, rename.sessions),
    )
    await tx.queue("update session set spawned_by = $3 where project = $1 and spawned_by = $2", *names)
    await tx.queue(
        "insert into seat_name (project, seat, name, at) select project, seat, cast($3 as text), at from seat_name"
        " where project = $1 and name = $2 on conflict (project, seat, name) do update set at = excluded.at",
        *names,
    )
    await tx.queue("delete from seat_name where project = $1 and name = $2", *names[:2])
