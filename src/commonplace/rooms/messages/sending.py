"""SQL for sending: what is known of an address, and a message with its deliveries. All else is in `store.py`."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from commonplace.identity.liveness import SESSION_LIVE_MICROSECONDS, is_live
from commonplace.rooms.messages.model import MESSAGE_STATUSES, PRIORITY_RANKS, MessageDraft
from commonplace.rooms.messages.store import MESSAGE_COLUMNS
from commonplace.store.counters import add_to_counter, lock_project_at_end
from commonplace.store.database import Row, Statement, Tx, Value

_PENDING = MESSAGE_STATUSES.index("pending")


def _duplicate_statement(draft: MessageDraft, since: int) -> Statement:
    return (
        (
            f"select {MESSAGE_COLUMNS} from message where project = $1 and fingerprint = $2 and created_at > $3"
            " order by created_at limit 1"
        ),
        draft.project,
        draft.fingerprint,
        since,
    )


@dataclass(frozen=True, slots=True)
class AddressFacts:
    """What is known of a draft and of the agents that it goes to."""

    duplicate: Row | None
    sessions: Sequence[Row]
    is_known: bool
    """Is the agent of this name on the roster?"""


async def load_address_facts(
    tx: Tx, draft: MessageDraft, agents: Sequence[str], since: int, now: int
) -> AddressFacts:
    duplicates, sessions, known = await tx.together(
        _duplicate_statement(draft, since),
        _recipient_sessions_statement(draft.project, agents, now),
        ("select 1 as yes from agent where project = $1 and name = $2", draft.project, draft.to),
    )
    return AddressFacts(duplicates[0] if duplicates else None, sessions, bool(known))


async def expect_no_duplicate(tx: Tx, draft: MessageDraft, since: int) -> None:
    """Nobody sent the same since it was looked for; sending in the project is locked until commit."""
    await lock_project_at_end(tx, draft.project, "message")
    await tx.expect_no_row(*_duplicate_statement(draft, since))


async def insert_message(tx: Tx, draft: MessageDraft, agents: Sequence[str], now: int) -> Row:
    """Insert the message and one delivery per recipient, with the next number of the project; return the message."""
    message_id = f"msg_{secrets.token_hex(6)}"
    row: dict[str, Value] = {
        "project": draft.project,
        "id": message_id,
        "sender": draft.sender,
        "sender_project": draft.sender_project,
        "addressed_to": draft.to,
        "subject": draft.subject,
        "body": draft.body,
        "priority": draft.priority,
        "category": draft.category,
        "thread": draft.thread or message_id,
        "reply_to": draft.reply_to,
        "chain_depth": draft.chain_depth,
        "require_human": int(draft.require_human),
        "recipients": len(agents),
        "fingerprint": draft.fingerprint,
        "created_at": now,
    }
    placeholders = ", ".join(f"${position}" for position in range(2, len(row) + 1))
    await add_to_counter(tx, draft.project, "message", 1)
    await tx.queue(
        f"insert into message ({', '.join(row)}, n)"
        f" select project, {placeholders}, n from counter where project = $1 and name = 'message'",
        *row.values(),
    )
    await tx.many(
        "insert into delivery (project, message, agent, n, rank, thread, category, state, note, changed_by, changed_at)"
        " select project, $2, $3, n, $4, $5, $6, $7, '', '', $8 from counter where project = $1 and name = 'message'",
        [
            (
                draft.project,
                message_id,
                agent,
                PRIORITY_RANKS[draft.priority],
                row["thread"],
                draft.category,
                _PENDING,
                now,
            )
            for agent in agents
        ],
    )
    return row


def _recipient_sessions_statement(project: str, agents: Sequence[str], now: int) -> Statement:
    """The live sessions of these agents, when each was active, and whether one of its work items is blocked."""
    return (
        (
            "select id, agent, active_at, exists (select 1 from work where work.project = $1 and work.session = session.id"
            " and work.status = 'blocked') as is_blocked"
            " from session where project = $1 and agent = any($2)"
            f" and {is_live('$3')}"
        ),
        project,
        list(agents),
        now - SESSION_LIVE_MICROSECONDS,
    )
