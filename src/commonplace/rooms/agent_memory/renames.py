"""The memory of an agent that gets another name."""

from commonplace.agent_names import AgentRename
from commonplace.rooms.agent_memory import store
from commonplace.rooms.agent_memory.store import MemoryOwner, find_memory_project
from commonplace.store.database import Tx


async def move_memory(tx: Tx, rename: AgentRename) -> None:
    """Move the values; of a key that both names set, the value that was written last stays."""
    project = find_memory_project(rename.caller)
    if not rename.moves_private or project is None:
        return
    old, new = MemoryOwner(project, rename.old_owner), MemoryOwner(project, rename.new_owner)
    # Locks the memory of both until commit; the order avoids a deadlock with a rename in the other direction.
    for owner in sorted((old, new), key=lambda owner: owner.agent):
        await store.add_usage(tx, owner)
    await store.move_entries(tx, old, new)
