"""Handoffs of an agent that gets another name; other documents keep the name of their author at the time."""

from commonplace.agent_names import AgentRename
from commonplace.store.database import Tx


async def move_handoffs(tx: Tx, rename: AgentRename) -> None:
    if rename.moves_agent:
        await tx.run(
            "update document set author = $3, row_hash = null where project = $1 and type = 'handoff' and author = $2",
            rename.project,
            rename.old,
            rename.new,
        )
