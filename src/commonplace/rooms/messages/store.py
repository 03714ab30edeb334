"""SQL for messages and deliveries. A delivery is one recipient's copy of a message and has its own state."""

from collections.abc import Sequence

from commonplace.agent_names import AgentRename
from commonplace.identity.liveness import SESSION_LIVE_MICROSECONDS, is_live
from commonplace.project import list_all_project_names
from commonplace.rooms.messages.model import (
    LIVE_SUBSCRIBER_WINDOW,
    MESSAGE_STATUSES,
    PRIORITY_RANKS,
)
from commonplace.store.database import Row, Tx, Value

_PENDING = MESSAGE_STATUSES.index("pending")
_DELIVERED = MESSAGE_STATUSES.index("delivered")
COMPLETED = MESSAGE_STATUSES.index("completed")
_WITHOUT_DELIVERY = (
    "created_at < $2 and not exists (select 1 from delivery where delivery.project = {project}"
    " and delivery.message = message.id)"
)
_BOTH_RECEIVED = (
    "exists (select 1 from delivery as other where other.project = $1 and other.message = delivery.message"
    " and other.agent = $2{condition})"
)
_URGENT = PRIORITY_RANKS["urgent"]
MESSAGE_COLUMNS = (
    "message.project, message.id, message.n, message.sender, message.sender_project, message.addressed_to,"
    " message.subject, message.body, message.priority, message.category, message.thread, message.reply_to,"
    " message.chain_depth, message.require_human, message.recipients, message.owner, message.created_at"
)


async def count_unread_messages(tx: Tx, project: str, agent: str, *, urgent_only: bool = False) -> int:
    least_rank = _URGENT if urgent_only else max(PRIORITY_RANKS.values())
    row = await tx.one(
        "select count(*) as n from delivery where project = $1 and agent = $2 and state = $3 and rank <= $4",
        project,
        agent,
        _PENDING,
        least_rank,
    )
    return int(row["n"]) if row else 0


UNREAD_OF_SESSION = (
    f"(select count(*) from delivery where delivery.project = $1 and state = {_PENDING}"
    " and delivery.agent = session.agent) as unread"
)
"""Messages for the agent of a session, beside its row."""


async def list_agent_names(tx: Tx, project: str) -> list[str]:
    rows = await tx.all("select name from agent where project = $1 order by name", project)
    return [row["name"] for row in rows]


async def list_admin_names(tx: Tx, project: str) -> list[str]:
    rows = await tx.all("select name from agent where project = $1 and tier = 'admin' order by name", project)
    return [row["name"] for row in rows]


async def list_reachable_names(tx: Tx, project: str, now: int) -> list[str]:
    """List the agents that are alive, or known to come back: the roster registers them, or their seat has their name."""
    rows = await tx.all(
        "select name from agent where project = $1 and (exists"
        "  (select 1 from session where session.project = $1 and session.agent = agent.name"
        f"   and {is_live('$2')})"
        " or exists (select 1 from seat_name where seat_name.project = $1 and seat_name.name = agent.name)"
        " or (tier in ('admin', 'named') and exists"
        "  (select 1 from project where project.name = $1 and project.registered = 1))) order by name",
        project,
        now - SESSION_LIVE_MICROSECONDS,
    )
    return [row["name"] for row in rows]


async def list_live_session_ids(tx: Tx, project: str, agents: Sequence[str], since: int) -> list[str]:
    """List the session digests of these agents that were active after `since`."""
    rows = await tx.all(
        "select id from session where project = $1 and agent = any($2) and ended_at is null and active_at > $3",
        project,
        list(agents),
        since,
    )
    return [row["id"] for row in rows]


def count_recently_active(sessions: Sequence[Row], now: int) -> int:
    return sum(row["active_at"] > now - LIVE_SUBSCRIBER_WINDOW for row in sessions)


async def load_message(tx: Tx, project: str, message: str) -> Row | None:
    return await tx.one(
        f"select {MESSAGE_COLUMNS} from message where project = $1 and id = $2", project, message
    )


async def load_parent_message(tx: Tx, project: str, message: str) -> Row | None:
    """Load a message that is replied to, with the subject that its thread began with."""
    return await tx.one(
        f"select {MESSAGE_COLUMNS}, first.subject as first_subject from message"
        " left join message as first on first.project = $1 and first.id = message.thread"
        " where message.project = $1 and message.id = $2",
        project,
        message,
    )


async def load_messages(tx: Tx, project: str, messages: Sequence[str]) -> Sequence[Row]:
    return await tx.all(
        f"select {MESSAGE_COLUMNS} from message where project = $1 and id = any($2)", project, list(messages)
    )


async def list_unanswered_questions(
    tx: Tx, project: str, agent: str, since: int, limit: int
) -> Sequence[Row]:
    """List the questions that the agent sent since then and nobody else has written to, the newest first."""
    return await tx.all(
        "select id, addressed_to, subject, body, created_at from message where project = $1 and created_at > $3"
        " and sender = $2 and sender_project = $1 and category = 'question' and not exists"
        " (select 1 from message as answer where answer.project = $1 and answer.thread = message.thread"
        "  and answer.sender <> $2 and answer.created_at >= message.created_at)"
        " order by created_at desc, id limit $4",
        *(project, agent, since, limit),
    )


async def list_inbox_messages(
    tx: Tx,
    project: str,
    agent: str,
    *,
    limit: int,
    unread_only: bool = True,
    after: tuple[int, int] | None = None,
    message: str | None = None,
    category: str | None = None,
) -> Sequence[Row]:
    """List the agent's messages, urgent first, then oldest first."""
    values: list[Value] = [project, agent, limit]
    conditions = ""

    def add_condition(condition: str, *arguments: Value) -> str:
        placeholders = [f"${len(values) + index}" for index in range(1, len(arguments) + 1)]
        values.extend(arguments)
        return " and " + condition.format(*placeholders)

    if unread_only:
        conditions += add_condition("delivery.state = {}", _PENDING)
    if after is not None:
        conditions += add_condition("(delivery.rank, delivery.n) > ({}, {})", *after)
    for column, value in (("message", message), ("category", category)):
        if value is not None:
            conditions += add_condition(f"delivery.{column} = {{}}", value)
    return await tx.all(
        f"select {MESSAGE_COLUMNS}, delivery.rank, delivery.state from delivery"
        " join message on message.project = $1 and message.id = delivery.message"
        f" where delivery.project = $1 and delivery.agent = $2{conditions} order by delivery.rank, delivery.n limit $3",
        *values,
    )


async def list_thread_messages(
    tx: Tx,
    project: str,
    agent: str,
    thread: str,
    *,
    limit: int,
    after: tuple[int, int, str] | None = None,
    category: str | None = None,
) -> Sequence[Row]:
    """List both sides of a thread, oldest first; the state of a message that the agent sent is its recipients' earliest."""
    page = (
        " and (message.created_at, message.n, message.id) > ($5, $6, $7)"
        " and (cast($8 as text) is null or message.category = $8)"
        " order by message.created_at, message.n, message.id limit $9"
    )
    received = (
        f"select {MESSAGE_COLUMNS}, delivery.state, 0 as is_own from delivery"
        " join message on message.project = $1 and message.id = delivery.message"
        f" where delivery.project = $3 and delivery.project = $1 and delivery.agent = $4 and delivery.thread = $2{page}"
    )
    sent = (
        f"select {MESSAGE_COLUMNS}, coalesce((select min(delivery.state) from delivery where delivery.project = $1"
        "  and delivery.message = message.id), 0) as state, 1 as is_own from message"
        " where message.project = $1 and message.thread = $2 and message.sender_project = $3 and message.sender = $4"
        "  and not exists (select 1 from delivery where delivery.project = $1 and $1 = $3"
        f"   and delivery.message = message.id and delivery.agent = $4){page}"
    )
    values = (thread, project, agent, *(after or (0, 0, "")), category, limit)
    parts = await tx.together(
        (received, project, *values),
        *((sent, each, *values) for each in await list_all_project_names(tx)),
    )
    rows = [row for part in parts for row in part]
    return sorted(rows, key=lambda row: (row["created_at"], row["n"], row["id"]))[:limit]


async def list_thread_ids(tx: Tx, project: str, agent: str, prefix: str) -> list[str]:
    """List up to five threads whose id starts with `prefix`, among those in which the agent received or sent something."""
    rows = await tx.all(
        "select thread from delivery where project = $1 and agent = $2 and thread >= $3 and thread < $4"
        " union select thread from message where project = $1 and sender_project = $1 and sender = $2"
        "  and thread >= $3 and thread < $4 order by thread limit 5",
        project,
        agent,
        prefix,
        prefix + "g",
    )
    return [row["thread"] for row in rows]


async def mark_messages_delivered(
    tx: Tx, project: str, agent: str, messages: Sequence[str], now: int
) -> set[str]:
    """Mark deliveries as delivered; return the messages that this call changed."""
    rows = await tx.all(
        "update delivery set state = $4, changed_by = $2, changed_at = $5"
        " where project = $1 and agent = $2 and message = any($3) and state < $4 returning message",
        project,
        agent,
        list(messages),
        _DELIVERED,
        now,
    )
    return {row["message"] for row in rows}


async def list_deliveries(tx: Tx, project: str, message: str) -> Sequence[Row]:
    return await tx.all(
        "select agent, state, note, changed_by, changed_at from delivery where project = $1 and message = $2 order by agent",
        project,
        message,
    )


async def list_deliveries_of_messages(tx: Tx, project: str, messages: Sequence[str]) -> Sequence[Row]:
    return await tx.all(
        "select message, agent, state from delivery where project = $1 and message = any($2) order by message, agent",
        project,
        list(messages),
    )


async def advance_deliveries(
    tx: Tx, project: str, message: str, agents: Sequence[str], state: int, note: str, by: str, now: int
) -> set[str]:
    """Move deliveries forward to `state`, never back; return the agents whose delivery moved."""
    rows = await tx.all(
        "update delivery set state = $4, note = $5, changed_by = $6, changed_at = $7"
        " where project = $1 and message = $2 and agent = any($3) and state < $4 returning agent",
        *(project, message, list(agents), state, note, by, now),
    )
    return {row["agent"] for row in rows}


async def claim_message_owner(tx: Tx, project: str, message: str, agent: str) -> str:
    """Claim the message if it has no owner; return its owner."""
    claimed = await tx.one(
        "update message set owner = $3 where project = $1 and id = $2 and owner is null returning owner",
        project,
        message,
        agent,
    )
    row = claimed or await tx.one(
        "select owner from message where project = $1 and id = $2", project, message
    )
    return row["owner"] if row else ""


async def list_some_projects_with_delivered_messages(
    tx: Tx, projects: Sequence[str], before: int, limit: int
) -> set[str]:
    rows = await tx.all(
        f"select project from message where project = any($1) and {_WITHOUT_DELIVERY.format(project='message.project')} limit $3",
        projects,
        before,
        limit,
    )
    return {row["project"] for row in rows}


async def count_delivered_messages(tx: Tx, project: str, before: int) -> int:
    row = await tx.one(
        f"select count(*) as n from message where project = $1 and {_WITHOUT_DELIVERY.format(project='$1')}",
        *(project, before),
    )
    return int(row["n"]) if row else 0


async def delete_delivered_messages(tx: Tx, project: str, before: int, limit: int) -> list[str]:
    """Delete messages without deliveries; return their ids."""
    rows = await tx.all(
        "delete from message where project = $1 and id in (select id from message where project = $1"
        f" and {_WITHOUT_DELIVERY.format(project='$1')} limit $3) returning id",
        *(project, before, limit),
    )
    return [row["id"] for row in rows]


async def move_deliveries(tx: Tx, rename: AgentRename) -> Sequence[Row]:
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


async def move_sent_messages(tx: Tx, rename: AgentRename) -> Sequence[Row]:
    """What it sent, to any project."""
    moved: list[Row] = []
    for project in await list_all_project_names(tx):
        moved += await tx.all(
            "update message set sender = $4 where project = $1 and sender_project = $2 and sender = $3"
            " returning project, id",
            *(project, rename.project, rename.old, rename.new),
        )
    return moved
