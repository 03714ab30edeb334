"""The requests of an agent that gets another name."""

from commonplace.agent_names import AgentRename
from commonplace.store.database import Tx


async def rename_asker(tx: Tx, rename: AgentRename) -> None:
    """The renamed sessions keep what they asked; an agent that takes everything with it keeps its earlier questions, too."""
    await tx.run(
        "update person_request set agent = $3 where project = $1 and agent = $2 and ($4 = 1 or session = any($5))",
        rename.project,
        rename.old,
        rename.new,
        int(rename.moves_agent),
        list(rename.sessions),
    )
