"""Messages and private notes of an agent that gets another name, on the blackboards of its project and the shared ones."""

from commonplace.access import SHARED
from commonplace.agent_names import AgentRename
from commonplace.store.database import Tx


async def rename_author(tx: Tx, rename: AgentRename) -> None:
    if not rename.moves_private:
        return
    for project in sorted({rename.project, SHARED}):
        boards = await _lock_boards_of_sender(tx, project, rename.old)
        if boards:
            await _rename_messages(tx, project, boards, rename)
            await _recount_messages(tx, project, boards)


async def _lock_boards_of_sender(tx: Tx, project: str, sender: str) -> list[str]:
    """Row-lock the blackboards that it wrote to until commit, so that no message is added meanwhile."""
    rows = await tx.all(
        "update context_session set last_sequence = last_sequence where project = $1 and id in"
        " (select session from context_tally where project = $1 and sender = $2) returning id",
        project,
        sender,
    )
    return [row["id"] for row in rows]


async def _rename_messages(tx: Tx, project: str, boards: list[str], rename: AgentRename) -> None:
    """An idempotency key, stored by an earlier version, that both names used stays with the known name."""
    own = "project = $1 and session = any($2) and owner = $3"
    await tx.run(
        f"update context_message set idempotency_key = null where {own} and idempotency_key is not null"
        " and exists (select 1 from context_message as other where other.project = $1"
        "  and other.session = context_message.session and other.owner = $4"
        "  and other.idempotency_key is not null and other.idempotency_key = context_message.idempotency_key)",
        *(project, boards, rename.old_owner, rename.new_owner),
    )
    await tx.run(
        "update context_message set owner = $4, sender = $5, audience = case audience"
        " when 'agent:' || $3 then 'agent:' || $4 when 'type:/' || $3 then 'type:/' || $4 else audience end"
        f" where {own}",
        *(project, boards, rename.old_owner, rename.new_owner, rename.new),
    )


async def _recount_messages(tx: Tx, project: str, boards: list[str]) -> None:
    await tx.run("delete from context_tally where project = $1 and session = any($2)", project, boards)
    await tx.run(
        "insert into context_tally (project, session, audience, sender, n)"
        " select project, session, audience, sender, count(*) from context_message"
        " where project = $1 and session = any($2) group by project, session, audience, sender",
        project,
        boards,
    )
