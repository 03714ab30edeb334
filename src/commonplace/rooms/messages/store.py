"""Messages and their deliveries in the store. A delivery is one recipient's copy, with a state of its own."""

import secrets
from collections.abc import Sequence

from commonplace import activity
from commonplace.activity import SESSION_LIVE_MICROSECONDS
from commonplace.rooms.messages.model import RANKS, STATUSES, Draft
from commonplace.store.database import Row, Tx, Value

_PENDING = STATUSES.index("pending")
_DELIVERED = STATUSES.index("delivered")
_COMPLETED = STATUSES.index("completed")
_URGENT = RANKS["urgent"]
_MESSAGE = (
    "message.project, message.id, message.n, message.sender, message.sender_project, message.addressed_to,"
    " message.subject, message.body, message.priority, message.category, message.thread, message.reply_to,"
    " message.chain_depth, message.require_human, message.recipients, message.owner, message.created_at"
)


async def unread_count(tx: Tx, project: str, agent: str) -> int:
    row = await tx.one(
        "select count(*) as n from delivery where project = $1 and agent = $2 and state = $3",
        project,
        agent,
        _PENDING,
    )
    return int(row["n"]) if row else 0


async def unread_urgent(tx: Tx, project: str, agent: str) -> int:
    row = await tx.one(
        "select count(*) as n from delivery where project = $1 and agent = $2 and state = $3 and rank = $4",
        project,
        agent,
        _PENDING,
        _URGENT,
    )
    return int(row["n"]) if row else 0


async def known_agent(tx: Tx, project: str, name: str) -> bool:
    return (
        await tx.one("select 1 as yes from agent where project = $1 and name = $2", project, name) is not None
    )


async def known_agents(tx: Tx, project: str) -> list[str]:
    rows = await tx.all("select name from agent where project = $1 order by name", project)
    return [row["name"] for row in rows]


async def registered(tx: Tx, project: str) -> bool:
    row = await tx.one("select registered from project where name = $1", project)
    return bool(row and row["registered"])


async def team(tx: Tx, project: str, now: int, *, admins: bool) -> list[str]:
    """Everyone on the roster, or its admins; of the workers those who are still there."""
    rows = await tx.all(
        "select name from agent where project = $1 and ($2 = 0 or tier = 'admin') and (tier <> 'worker' or exists"
        " (select 1 from session where session.project = $1 and session.agent = agent.name"
        "  and session.ended_at is null and session.active_at > $3)) order by name",
        project,
        int(admins),
        now - SESSION_LIVE_MICROSECONDS,
    )
    return [row["name"] for row in rows]


async def live_sessions(tx: Tx, project: str, agents: Sequence[str], since: int) -> list[str]:
    """Digests of the sessions of these agents that were active since then."""
    rows = await tx.all(
        "select id from session where project = $1 and agent = any($2) and ended_at is null and active_at > $3",
        project,
        list(agents),
        since,
    )
    return [row["id"] for row in rows]


async def tell_agents(tx: Tx, project: str, agents: Sequence[str], text: str, now: int) -> None:
    """Leave the same news for every live session of these agents."""
    if agents:
        await activity.tell(
            tx, project, await live_sessions(tx, project, agents, now - SESSION_LIVE_MICROSECONDS), text, now
        )


async def by_key(tx: Tx, draft: Draft) -> Row | None:
    return await tx.one(
        f"select {_MESSAGE} from message where project = $1 and sender_project = $2 and sender = $3"
        " and idempotency_key = $4",
        draft.project,
        draft.sender_project,
        draft.sender,
        draft.idempotency_key,
    )


async def same_since(tx: Tx, draft: Draft, since: int) -> Row | None:
    return await tx.one(
        f"select {_MESSAGE} from message where project = $1 and fingerprint = $2 and created_at > $3"
        " order by created_at limit 1",
        draft.project,
        draft.fingerprint,
        since,
    )


async def add(tx: Tx, draft: Draft, agents: Sequence[str], n: int, now: int) -> Row:
    """Write the message and one copy for each recipient."""
    identity = f"msg_{secrets.token_hex(6)}"
    thread = draft.thread or identity
    row = await tx.one(
        "insert into message (project, id, n, sender, sender_project, addressed_to, subject, body, priority, category,"
        " thread, reply_to, chain_depth, require_human, recipients, fingerprint, idempotency_key, created_at)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)"
        f" returning {_MESSAGE.replace('message.', '')}",
        *(
            draft.project,
            identity,
            n,
            draft.sender,
            draft.sender_project,
            draft.to,
            draft.subject,
            draft.body,
        ),
        *(
            draft.priority,
            draft.category,
            thread,
            draft.reply_to,
            draft.chain_depth,
            int(draft.require_human),
        ),
        *(len(agents), draft.fingerprint, draft.idempotency_key, now),
    )
    await tx.many(
        "insert into delivery (project, message, agent, n, rank, thread, category, state, note, changed_by, changed_at)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8, '', '', $9)",
        [
            (draft.project, identity, agent, n, RANKS[draft.priority], thread, draft.category, _PENDING, now)
            for agent in agents
        ],
    )
    return row or {}


async def one(tx: Tx, project: str, message: str) -> Row | None:
    return await tx.one(f"select {_MESSAGE} from message where project = $1 and id = $2", project, message)


async def inbox(
    tx: Tx,
    project: str,
    agent: str,
    *,
    limit: int,
    unread_only: bool = True,
    after: tuple[int, int] | None = None,
    message: str | None = None,
    thread: str | None = None,
    category: str | None = None,
) -> Sequence[Row]:
    """The agent's copies, urgent first, then oldest."""
    values: list[Value] = [project, agent, limit]
    wanted = ""

    def also(condition: str, *more: Value) -> str:
        places = [f"${len(values) + place}" for place in range(1, len(more) + 1)]
        values.extend(more)
        return " and " + condition.format(*places)

    if unread_only:
        wanted += also("delivery.state = {}", _PENDING)
    if after is not None:
        wanted += also("(delivery.rank, delivery.n) > ({}, {})", *after)
    for column, value in (("message", message), ("thread", thread), ("category", category)):
        if value is not None:
            wanted += also(f"delivery.{column} = {{}}", value)
    return await tx.all(
        f"select {_MESSAGE}, delivery.rank, delivery.state from delivery"
        " join message on message.project = delivery.project and message.id = delivery.message"
        f" where delivery.project = $1 and delivery.agent = $2{wanted} order by delivery.rank, delivery.n limit $3",
        *values,
    )


async def threads(tx: Tx, project: str, agent: str, given: str) -> list[str]:
    """Threads of the agent whose id begins so; a few of them."""
    rows = await tx.all(
        "select distinct thread from delivery where project = $1 and agent = $2 and thread >= $3 and thread < $4"
        " order by thread limit 5",
        project,
        agent,
        given,
        given + "g",
    )
    return [row["thread"] for row in rows]


async def deliver(tx: Tx, project: str, agent: str, messages: Sequence[str], now: int) -> set[str]:
    """Mark copies as seen; those that this call and no other changed."""
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


async def deliveries(tx: Tx, project: str, message: str) -> Sequence[Row]:
    return await tx.all(
        "select agent, state, note, changed_by, changed_at from delivery where project = $1 and message = $2 order by agent",
        project,
        message,
    )


async def advance(
    tx: Tx, project: str, message: str, agents: Sequence[str], state: int, note: str, by: str, now: int
) -> set[str]:
    """Move copies forward, never back; whose were moved."""
    rows = await tx.all(
        "update delivery set state = $4, note = $5, changed_by = $6, changed_at = $7"
        " where project = $1 and message = $2 and agent = any($3) and state < $4 returning agent",
        *(project, message, list(agents), state, note, by, now),
    )
    return {row["agent"] for row in rows}


async def claim(tx: Tx, project: str, message: str, agent: str) -> str:
    """Take the message if nobody has; who has it now."""
    taken = await tx.one(
        "update message set owner = $3 where project = $1 and id = $2 and owner is null returning owner",
        project,
        message,
        agent,
    )
    row = taken or await tx.one("select owner from message where project = $1 and id = $2", project, message)
    return row["owner"] if row else ""


async def sweep(tx: Tx, before: int) -> int:
    """Forget copies that were finished before then, and messages that nobody has a copy of; unread mail stays.

    A message with an idempotency key keeps its row without the text, so that the key answers for ever.
    """
    projects = [row["name"] for row in await tx.all("select name from project")]
    forgotten = await tx.run(
        "delete from delivery where project = any($1) and state >= $2 and changed_at < $3",
        projects,
        _COMPLETED,
        before,
    )
    nobody = (
        " and created_at < $2 and not exists (select 1 from delivery"
        " where delivery.project = message.project and delivery.message = message.id)"
    )
    await tx.run(
        f"delete from message where project = any($1){nobody} and idempotency_key is null", projects, before
    )
    await tx.run(
        f"update message set body = '' where project = any($1){nobody} and body <> ''", projects, before
    )
    return forgotten
