"""What agent memory contributes: retention of expired values, and what a rename of its agent does."""

from collections.abc import Sequence

from commonplace.agent_names import AgentRename
from commonplace.retention import RetentionRule, Sweep
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


async def _find_projects(tx: Tx, projects: Sequence[str], before: int, _limit: int) -> set[str]:
    return {owner.project for owner in await store.list_owners_with_expired_entries(tx, projects, before)}


async def _delete_entries(tx: Tx, batch: Sweep) -> int:
    """Delete the expired entries of one agent, whose number is limited."""
    owners = await store.list_owners_with_expired_entries(tx, [batch.project], batch.now)
    if not owners:
        return 0
    await store.add_usage(tx, owners[0])
    rows = await store.count_expired_entries_of(tx, owners[0], batch.now)
    await store.delete_expired_entries(tx, owners[0], batch.now)
    return rows


async def _count_entries(tx: Tx, batch: Sweep) -> int:
    return await store.count_expired_entries(tx, batch.project, batch.now)


EXPIRED_MEMORY = RetentionRule(
    kind="agent_memory", find_due=_find_projects, sweep=_delete_entries, count=_count_entries
)
