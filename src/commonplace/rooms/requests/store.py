"""SQL of the `person_request` table."""

from collections.abc import Sequence

import msgspec

from commonplace.identity.liveness import SESSION_LIVE_MICROSECONDS
from commonplace.identity.session import AgentSession
from commonplace.rooms.requests import model
from commonplace.shortening import shorten_line
from commonplace.store.database import Row, Tx

_MAX_LISTED = 200
_MAX_NAMED = 5
_COLUMNS = (
    "person_request.project, person_request.id, person_request.session, person_request.subagent,"
    " person_request.agent, person_request.source, person_request.kind, person_request.tool,"
    " person_request.machine, person_request.directory, person_request.title, person_request.body,"
    " person_request.questions, person_request.shown, person_request.state, person_request.decision,"
    " person_request.answers, person_request.note, person_request.answered_by, person_request.created_at,"
    " person_request.polled_at, person_request.changed_at, person_request.delivered_at"
)
_SELECT = (
    f"select {_COLUMNS}, session.tmux_target, session.ended_at from person_request"
    " left join session on session.project = person_request.project and session.id = person_request.session"
)
# An agent's own question waits for its next session, too. An idle agent waits until it does something; what its program
# asked before the session ended is nobody's any more.
_IS_WAITING = (
    "person_request.state = 'open'"
    " and (person_request.source = 'agent' or session.ended_at is null and session.active_at > $2)"
    f" and (person_request.kind <> 'idle' or session.active_at <= person_request.created_at + {model.IDLE_PATIENCE})"
)


async def insert_request(
    tx: Tx,
    id: str,
    session: AgentSession,
    draft: model.RequestDraft,
    now: int,
    *,
    is_awaited: bool,
) -> None:
    await tx.run(
        "insert into person_request (project, id, session, subagent, agent, source, kind, tool, machine, directory,"
        " title, body, questions, shown, state, created_at, polled_at, changed_at)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, 'open', $15, $16, $15)",
        session.project,
        id,
        session.id,
        draft.subagent,
        draft.agent,
        draft.source,
        draft.kind,
        draft.tool,
        draft.machine,
        draft.directory,
        draft.title,
        draft.body,
        msgspec.json.encode(draft.questions).decode(),
        draft.shown,
        now,
        now if is_awaited else 0,
    )


async def load_request(tx: Tx, project: str, id: str) -> Row | None:
    return await tx.one(
        f"{_SELECT} where person_request.project = $1 and person_request.id = $2", project, id
    )


async def load_questions_of_agents(tx: Tx, project: str, ids: Sequence[str]) -> Sequence[Row]:
    """Those of the requests that agents asked with memory_ask_person."""
    return await tx.all(
        f"select {_COLUMNS} from person_request where project = $1 and id = any($2) and source = 'agent'",
        project,
        list(ids),
    )


async def list_latest_answers(tx: Tx, project: str) -> Sequence[Row]:
    """The ids and questions of what people answered last, the newest first."""
    return await tx.all(
        "select id, questions from person_request where project = $1 and source = 'agent' and state = 'answered'"
        " order by changed_at desc, id limit $2",
        project,
        _MAX_LISTED,
    )


async def list_pending_questions(tx: Tx, project: str, agent: str) -> Sequence[Row]:
    """What this agent asked in any session: open, or answered but not yet read; the newest first."""
    return await tx.all(
        f"{_SELECT} where person_request.project = $1 and person_request.agent = $2 and person_request.source = 'agent'"
        " and (person_request.state = 'open' or person_request.state = 'answered' and person_request.delivered_at = 0)"
        " order by person_request.created_at desc, person_request.id limit $3",
        project,
        agent,
        _MAX_LISTED,
    )


async def list_waiting_requests(tx: Tx, projects: Sequence[str], now: int) -> Sequence[Row]:
    """Requests that a person can still do something about, newest first."""
    return await tx.all(
        f"{_SELECT} where person_request.project = any($1) and {_IS_WAITING}"
        " order by person_request.created_at desc, person_request.id limit $3",
        list(projects),
        now - SESSION_LIVE_MICROSECONDS,
        _MAX_LISTED,
    )


async def list_requests(tx: Tx, projects: Sequence[str], states: Sequence[str], limit: int) -> Sequence[Row]:
    return await tx.all(
        f"{_SELECT} where person_request.project = any($1) and person_request.state = any($2)"
        " order by person_request.created_at desc, person_request.id limit $3",
        list(projects),
        list(states),
        limit,
    )


async def count_open_of_session(tx: Tx, session: AgentSession, source: str) -> int:
    row = await tx.one(
        "select count(*) as n from person_request where project = $1 and session = $2 and state = 'open'"
        " and source = $3 and kind <> 'idle'",
        session.project,
        session.id,
        source,
    )
    return int(row["n"]) if row else 0


async def list_open_questions(tx: Tx, session: AgentSession) -> list[str]:
    """The ids and first words of what the agent itself asked and nobody has answered."""
    rows = await list_pending_questions(tx, session.project, session.agent)
    return [
        f"{row['id']} {shorten_line(model.decode_questions(row['questions'])[0].question, model.MAX_SHOWN_QUESTION_CHARACTERS)}"
        for row in rows
        if row["state"] == "open"
    ][:_MAX_NAMED]


async def mark_answered(
    tx: Tx,
    project: str,
    id: str,
    shown: str,
    *,
    decision: str,
    answers: Sequence[str],
    note: str,
    person: str,
    now: int,
) -> bool:
    """Answer a request that is still open and as it was shown; of two answers one counts."""
    changed = await tx.all(
        "update person_request set state = 'answered', decision = $4, answers = $5, note = $6, answered_by = $7,"
        " changed_at = $8 where project = $1 and id = $2 and shown = $3 and state = 'open' returning id",
        project,
        id,
        shown,
        decision,
        msgspec.json.encode(list(answers)).decode(),
        note,
        person,
        now,
    )
    return bool(changed)


async def mark_delivered(tx: Tx, project: str, id: str, now: int) -> None:
    await tx.run(
        "update person_request set delivered_at = $3 where project = $1 and id = $2 and delivered_at = 0",
        project,
        id,
        now,
    )


async def mark_polled(tx: Tx, project: str, id: str, now: int) -> None:
    await tx.run(
        "update person_request set polled_at = $3 where project = $1 and id = $2 and polled_at < $3",
        project,
        id,
        now,
    )


async def close_requests(
    tx: Tx, session: AgentSession, subagent: str | None, ids: Sequence[str] | None, now: int
) -> list[str]:
    """Close what the programs of this session asked: the program went on. Questions of the agent itself stay open."""
    rows = await tx.all(
        "update person_request set state = 'closed', changed_at = $3 where project = $1 and session = $2"
        " and state = 'open' and source = 'hook' and (cast($4 as text) is null or subagent = $4)"
        " and ($5 = 1 or id = any($6)) returning id",
        session.project,
        session.id,
        now,
        subagent,
        int(ids is None),
        list(ids or ()),
    )
    return [row["id"] for row in rows]
