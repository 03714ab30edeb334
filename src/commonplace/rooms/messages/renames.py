"""Mail of an agent that gets another name: what it received and what it sent."""

from collections import defaultdict
from collections.abc import Sequence

from commonplace.agent_names import AgentRename
from commonplace.project import list_all_project_names
from commonplace.rooms.messages.search import SEARCH_SOURCE
from commonplace.search.index import MESSAGE_KIND
from commonplace.search.refresh import refresh_items, request_refresh
from commonplace.store.database import Row, Tx

_MAX_REFRESHED_AT_ONCE = 100
_BOTH_RECEIVED = (
    "exists (select 1 from delivery as other where other.project = $1 and other.message = delivery.message"
    " and other.agent = $2{condition})"
)


async def move_mail(tx: Tx, rename: AgentRename) -> None:
    if rename.moves_agent:
        moved = [*await _move_deliveries(tx, rename), *await _move_sent_messages(tx, rename)]
        await _refresh_readers(tx, moved)


async def _refresh_readers(tx: Tx, moved: Sequence[Row]) -> None:
    """Let the search index follow: at once for a few messages, in the background for many."""
    ids_by_project: dict[str, dict[str, None]] = defaultdict(dict)
    for row in moved:
        ids_by_project[row["project"]][row["id"]] = None
    for project in sorted(ids_by_project):
        ids = list(ids_by_project[project])
        await refresh_items(tx, SEARCH_SOURCE, project, ids[:_MAX_REFRESHED_AT_ONCE])
        if len(ids) > _MAX_REFRESHED_AT_ONCE:
            await request_refresh(tx, project, MESSAGE_KIND)


async def _move_deliveries(tx: Tx, rename: AgentRename) -> Sequence[Row]:
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
    return await tx.all(
        "update delivery set agent = $3 where project = $1 and agent = $2 returning project, message as id",
        *(project, old, new),
    )


async def _move_sent_messages(tx: Tx, rename: AgentRename) -> Sequence[Row]:
    """What it sent, to any project; an idempotency key, stored by an earlier version, that both names used stays with the known one."""
    projects = await list_all_project_names(tx)
    sent = "project = any($1) and sender_project = $2 and sender = $3"
    await tx.run(
        f"update message set idempotency_key = null where {sent} and idempotency_key is not null"
        " and exists (select 1 from message as other where other.project = message.project"
        "  and other.sender_project = $2 and other.sender = $4"
        "  and other.idempotency_key = message.idempotency_key)",
        *(projects, rename.project, rename.old, rename.new),
    )
    return await tx.all(
        f"update message set sender = $4 where {sent} returning project, id",
        *(projects, rename.project, rename.old, rename.new),
    )
