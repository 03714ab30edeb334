"""Mail of an agent that gets another name: what it received and what it sent."""

from commonplace.agent_names import AgentRename
from commonplace.project import list_all_project_names
from commonplace.store.database import Tx

_BOTH_RECEIVED = (
    "exists (select 1 from delivery as other where other.project = $1 and other.message = delivery.message"
    " and other.agent = $2{condition})"
)


async def move_mail(tx: Tx, rename: AgentRename) -> None:
    if rename.moves_agent:
        await _move_deliveries(tx, rename)
        await _move_sent_messages(tx, rename)


async def _move_deliveries(tx: Tx, rename: AgentRename) -> None:
    """Of a message that both names received one copy stays, in the state that is further."""
    project, old, new = rename.project, rename.old, rename.new
    is_behind = _BOTH_RECEIVED.format(condition=" and other.state > delivery.state")
    await tx.run(
        "update delivery set state = (select other.state from delivery as other where other.project = $1"
        "  and other.message = delivery.message and other.agent = $2)"
        f" where project = $1 and agent = $3 and {is_behind}",
        *(project, old, new),
    )
    await tx.run(
        f"delete from delivery where project = $1 and agent = $3 and {_BOTH_RECEIVED.format(condition='')}",
        *(project, new, old),
    )
    for column in ("owner", "addressed_to"):
        await tx.run(
            f"update message set {column} = $3 where project = $1 and {column} = $2"
            " and id in (select message from delivery where project = $1 and agent = any($4))",
            *(project, old, new, [old, new]),
        )
    await tx.run("update delivery set agent = $3 where project = $1 and agent = $2", project, old, new)


async def _move_sent_messages(tx: Tx, rename: AgentRename) -> None:
    """What it sent, to any project; an idempotency key that both names used stays with the known name."""
    projects = await list_all_project_names(tx)
    sent = "project = any($1) and sender_project = $2 and sender = $3"
    await tx.run(
        f"update message set idempotency_key = null where {sent} and idempotency_key is not null"
        " and exists (select 1 from message as other where other.project = message.project"
        "  and other.sender_project = $2 and other.sender = $4"
        "  and other.idempotency_key = message.idempotency_key)",
        *(projects, rename.project, rename.old, rename.new),
    )
    await tx.run(
        f"update message set sender = $4 where {sent}", projects, rename.project, rename.old, rename.new
    )
