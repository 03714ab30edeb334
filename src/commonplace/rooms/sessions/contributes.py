"""What sessions contribute to other parts of the server: events, what a rename moves, retention, and boot sections.

`rooms/blackboard` records what each session has read and leaves notices; `unread_posts` carries it over to the agent's
next session, because blackboards must not depend on sessions."""

from collections.abc import Sequence

from commonplace.agent_names import AgentRename
from commonplace.boot import BootSection, StartingSession
from commonplace.call import Call
from commonplace.clock import DAY
from commonplace.events import EventType
from commonplace.identity.session import AgentSession
from commonplace.operation import Reply
from commonplace.retention import delete_from_table
from commonplace.rooms.agents.contributes import AGENTS
from commonplace.rooms.sessions.handoffs import render_handoffs
from commonplace.shortening import shorten_text
from commonplace.store.database import Row, Tx

_SETTING = "session_days"
_MAX_BOARDS = 5
_MAX_PURPOSE_CHARACTERS = 120
_FOLLOWED_FOR = 14 * DAY
"""An agent that has not looked at a blackboard for so long is not told of it at its next start."""

SESSION_STARTED = EventType("SessionStarted", AGENTS)
SESSION_ENDED = EventType("SessionEnded", AGENTS)


async def rename_sessions(tx: Tx, rename: AgentRename) -> None:
    """Rename the sessions; with the agent also those that ended, its sub-agents' parent, and the name of its seats."""
    names = (rename.project, rename.old, rename.new)
    if not rename.moves_agent:
        await tx.queue(
            "update session set agent = $3 where project = $1 and agent = $2 and id = any($4)",
            *(*names, rename.sessions),
        )
        return
    await tx.queue(
        "update session set agent = $3 where project = $1 and agent = $2"
        " and (ended_at is not null or id = any($4))",
        *(*names, rename.sessions),
    )
    await tx.queue("update session set spawned_by = $3 where project = $1 and spawned_by = $2", *names)
    await tx.queue(
        "insert into seat_name (project, seat, name, at) select project, seat, cast($3 as text), at from seat_name"
        " where project = $1 and name = $2 on conflict (project, seat, name) do update set at = excluded.at",
        *names,
    )
    await tx.queue("delete from seat_name where project = $1 and name = $2", *names[:2])


SESSION_RULES = (
    delete_from_table("session", kind="sessions", at="active_at", setting=_SETTING),
    delete_from_table("session_key", kind="session_keys", setting=_SETTING),
    delete_from_table("agent_window", kind="windows", setting=_SETTING),
    delete_from_table("seat_name", kind="seats", key=("seat", "name"), setting=_SETTING),
    delete_from_table("handoff", kind="handoffs", at="created_at", setting=_SETTING),
    delete_from_table("notice", kind="notices", key=("session", "at", "id"), setting="notice_days"),
    delete_from_table(
        "agent", kind="workers", key=("name",), old="last_seen_at < $2 and tier = 'worker'", age=30 * DAY
    ),
)


class UnreadBoard(Reply):
    """Read the posts with get_context: it takes `session_id` and `after`."""

    session_id: str
    purpose: str
    unread: int
    after: int


async def gather_unread_boards(call: Call, start: StartingSession) -> list[UnreadBoard]:
    limit = start.scale_limit(_MAX_BOARDS)
    rows = await _list_unread_boards(call.tx, start.project, start.agent, call.now, limit)
    return [
        UnreadBoard(
            session_id=row["id"],
            purpose=shorten_text(row["purpose"], _MAX_PURPOSE_CHARACTERS),
            unread=row["unread"],
            after=row["read"],
        )
        for row in rows
    ]


async def list_reading_calls(tx: Tx, session: AgentSession, now: int) -> list[str]:
    """The calls that read what the agent has not read on open blackboards, newest blackboard first."""
    rows = await _list_unread_boards(tx, session.project, session.agent, now, _MAX_BOARDS, is_open=True)
    return [f'get_context(session_id="{row["id"]}", after={row["read"]})' for row in rows]


async def _list_unread_boards(
    tx: Tx, project: str, agent: str, now: int, limit: int, *, is_open: bool = False
) -> Sequence[Row]:
    """List the blackboards with public posts of others that no session of the agent has read, the newest first.

    `is_open`: without those that are closed.
    """
    return await tx.all(
        "select board.id, board.purpose, own.sequence as read, count(*) as unread from"
        " (select reader.blackboard, max(reader.sequence) as sequence from context_reader as reader"
        "  join session on session.project = $1 and session.id = reader.session and session.agent = $2"
        "  where reader.project = $1 and reader.session_project = $1 and reader.at > $3 group by reader.blackboard) as own"
        " join context_session as board on board.project = $1 and board.id = own.blackboard"
        "  and ($5 = 0 or board.status = 'active')"
        " join context_message as message on message.project = $1 and message.session = own.blackboard"
        "  and message.sequence > own.sequence and message.audience = '' and message.sender <> $2"
        " group by board.id, board.purpose, board.updated_at, own.sequence"
        " order by board.updated_at desc, board.id limit $4",
        project,
        agent,
        now - _FOLLOWED_FOR,
        limit,
        int(is_open),
    )


async def continue_following(tx: Tx, session: AgentSession, now: int, dormant: Sequence[str] = ()) -> None:
    """Let a new session follow what sessions of its agent that ended or are dormant followed, from where they have read."""
    await tx.queue(
        "insert into context_reader (project, blackboard, session_project, session, sequence, at)"
        " select reader.project, reader.blackboard, reader.session_project, cast($2 as text), max(reader.sequence),"
        " max(reader.at) from context_reader as reader join session on session.project = $1"
        " and session.id = reader.session and session.agent = $3"
        " and (session.ended_at is not null or session.id = any($5))"
        " join context_session as board on board.project = $1 and board.id = reader.blackboard"
        "  and board.status = 'active'"
        " where reader.project = $1 and reader.session_project = $1 and reader.at > $4"
        " group by reader.project, reader.blackboard, reader.session_project"
        " on conflict (project, blackboard, session_project, session) do nothing",
        session.project,
        session.id,
        session.agent,
        now - _FOLLOWED_FOR,
        list(dormant),
    )


UNREAD_POSTS_SECTION = BootSection("unread_posts", 26, gather_unread_boards)

HANDOFF_SECTION = BootSection("handoff", 20, render_handoffs)
