"""SQL of blackboard sessions and messages.

Every query that returns the text of messages filters by audience (`_IS_VISIBLE`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from commonplace.access import SHARED
from commonplace.agent_names import AgentRename
from commonplace.rooms.blackboard.model import MAX_INTEGER, message_id_range
from commonplace.store.database import Row, Tx

_SELECT_SESSIONS = (
    "select project, id, purpose, metadata, status, summary, created_by, created_at, updated_at, closed_by,"
    " closed_at, last_sequence from context_session"
)
_SELECT_SESSIONS_AND_TOTAL = _SELECT_SESSIONS.replace(" from ", ", count(*) over () as total from ")
_SELECT_MESSAGES = (
    "select id, sequence, audience, sender, content, metadata, message_type, parent, at from context_message"
)
_IS_VISIBLE = "project = $1 and session = $2 and audience = any($3)"
_IN_VIEW = (
    f"{_IS_VISIBLE} and sequence > $4 and at >= $5 and at <= $6 and (CAST($7 as text) is null or sender = $7)"
)
_MAX_REPLIES = 200
_CANDIDATES_PER_KIND = 400


@dataclass(frozen=True, slots=True)
class MessageView:
    """The messages of one session that a reader may see, narrowed by the reader's filters."""

    project: str
    session: str
    audiences: list[str]
    after: int = 0
    since: int = 0
    until: int = MAX_INTEGER
    sender: str | None = None

    @property
    def visible_parameters(self) -> tuple[str, str, list[str]]:
        return self.project, self.session, self.audiences

    @property
    def view_parameters(self) -> tuple[str, str, list[str], int, int, int, str | None]:
        return *self.visible_parameters, self.after, self.since, self.until, self.sender

    @property
    def has_time_bounds(self) -> bool:
        return self.since > 0 or self.until < MAX_INTEGER


@dataclass(frozen=True, slots=True)
class BlackboardDraft:
    """A message before it has its sequence number."""

    project: str
    session: str
    id: str
    audience: str
    sender: str
    owner: str
    key_id: str
    message_type: str
    mark: str
    content: str
    metadata: str
    at: int
    parent: str = ""


async def find_project_of_session(tx: Tx, session_id: str) -> str | None:
    row = await tx.one("select project from context_session_place where id = $1", session_id)
    return row["project"] if row else None


async def list_sessions_in_id_range(tx: Tx, first: str, last: str, limit: int) -> Sequence[Row]:
    return await tx.all(
        "select id, project from context_session_place where id >= $1 and id <= $2 order by id limit $3",
        first,
        last,
        limit,
    )


async def load_session_row(tx: Tx, project: str, session_id: str) -> Row | None:
    return await tx.one(f"{_SELECT_SESSIONS} where project = $1 and id = $2", project, session_id)


async def insert_session(
    tx: Tx, project: str, session_id: str, purpose: str, metadata: str, created_by: str, now: int
) -> None:
    await tx.run("insert into context_session_place (id, project) values ($1, $2)", session_id, project)
    await tx.run(
        "insert into context_session (project, id, purpose, metadata, status, summary, created_by, created_at,"
        " updated_at, closed_by, last_sequence) values ($1, $2, $3, $4, 'active', '', $5, $6, $6, '', 0)",
        project,
        session_id,
        purpose,
        metadata,
        created_by,
        now,
    )


async def list_session_rows(
    tx: Tx, projects: Sequence[str], active_only: bool, idle_since: int, limit: int, offset: int
) -> tuple[int, list[Row]]:
    """Return the number of sessions and one page of them, most recently written first."""
    statement = (
        f"{_SELECT_SESSIONS_AND_TOTAL} where project = $1 and ($2 = 0 or (status = 'active' and updated_at > $3))"
        " order by updated_at desc, id limit $4"
    )
    values = (int(active_only), idle_since, offset + limit)
    pages = await tx.together(*((statement, name, *values) for name in projects)) if projects else []
    rows = sorted((row for page in pages for row in page), key=lambda row: (-row["updated_at"], row["id"]))
    return sum(page[0]["total"] for page in pages if page), rows[offset : offset + limit]


async def close_session_row(
    tx: Tx, project: str, session_id: str, status: str, summary: str | None, agent: str, now: int
) -> Row | None:
    """Close the session; the first closer and time are kept."""
    return await tx.one(
        "update context_session set status = $3, summary = coalesce(CAST($4 as text), summary),"
        " closed_by = case when closed_at is null then $5 else closed_by end,"
        " closed_at = coalesce(closed_at, CAST($6 as bigint)), updated_at = CAST($6 as bigint)"
        " where project = $1 and id = $2 returning status, closed_at",
        project,
        session_id,
        status,
        summary,
        agent,
        now,
    )


async def list_some_idle_projects(tx: Tx, projects: Sequence[str], idle_since: int, limit: int) -> set[str]:
    rows = await tx.all(
        "select project from context_session"
        " where project = any($1) and status = 'active' and updated_at <= $2 limit $3",
        projects,
        idle_since,
        limit,
    )
    return {row["project"] for row in rows}


async def close_idle_session_rows(
    tx: Tx, project: str, idle_since: int, now: int, limit: int
) -> Sequence[Row]:
    return await tx.all(
        "update context_session set status = 'completed', closed_by = 'idle', closed_at = $3"
        " where project = $1 and id in (select id from context_session"
        "  where project = $1 and status = 'active' and updated_at <= $2 limit $4) returning id",
        project,
        idle_since,
        now,
        limit,
    )


async def count_idle_sessions(tx: Tx, project: str, idle_since: int) -> int:
    row = await tx.one(
        "select count(*) as n from context_session where project = $1 and status = 'active' and updated_at <= $2",
        project,
        idle_since,
    )
    return int(row["n"]) if row else 0


async def count_messages_by_sender(
    tx: Tx, sessions: Sequence[Row], audiences: list[str]
) -> dict[str, dict[str, int]]:
    """Count the visible messages of each sender, by session."""
    counts: dict[str, dict[str, int]] = {session["id"]: {} for session in sessions}
    for project in sorted({session["project"] for session in sessions}):
        rows = await tx.all(
            "select session, sender, CAST(sum(n) as bigint) as n from context_tally"
            " where project = $1 and session = any($2) and audience = any($3) group by session, sender",
            *(project, list(counts), audiences),
        )
        for row in rows:
            counts[row["session"]][row["sender"]] = row["n"]
    return counts


async def allocate_sequence(tx: Tx, project: str, session_id: str, idle_since: int, now: int) -> int | None:
    """Return the next sequence number, or None if the session is closed. The row lock prevents gaps."""
    row = await tx.one(
        "update context_session set last_sequence = last_sequence + 1, updated_at = $4"
        " where project = $1 and id = $2 and status = 'active' and updated_at > $3 returning last_sequence",
        project,
        session_id,
        idle_since,
        now,
    )
    return row["last_sequence"] if row else None


async def insert_message(tx: Tx, draft: BlackboardDraft, sequence: int) -> None:
    await tx.run(
        "insert into context_message (project, session, sequence, id, audience, sender, owner, key_id, message_type,"
        " mark, content, metadata, size, parent, replies, at)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, 0, $15)",
        draft.project,
        draft.session,
        sequence,
        draft.id,
        draft.audience,
        draft.sender,
        draft.owner,
        draft.key_id,
        draft.message_type,
        draft.mark,
        draft.content,
        draft.metadata,
        len(draft.content) + len(draft.metadata),
        draft.parent,
        draft.at,
    )
    await tx.run(
        "insert into context_tally (project, session, audience, sender, n) values ($1, $2, $3, $4, 1)"
        " on conflict (project, session, audience, sender) do update set n = context_tally.n + 1",
        draft.project,
        draft.session,
        draft.audience,
        draft.sender,
    )


async def increment_reply_count(tx: Tx, draft: BlackboardDraft) -> None:
    await tx.run(
        "update context_message set replies = replies + 1 where project = $1 and session = $2 and id = $3",
        draft.project,
        draft.session,
        draft.parent,
    )


async def list_messages_in_id_range(tx: Tx, view: MessageView, first: str, last: str) -> Sequence[Row]:
    """List up to five visible messages whose ids lie in this range."""
    return await tx.all(
        f"{_SELECT_MESSAGES} where {_IS_VISIBLE} and id >= $4 and id <= $5 order by id limit 5",
        *view.visible_parameters,
        first,
        last,
    )


async def list_reply_ids(tx: Tx, view: MessageView, message_id: str) -> list[str]:
    rows = await tx.all(
        f"select id from context_message where {_IS_VISIBLE} and parent = $4 order by sequence limit $5",
        *view.visible_parameters,
        message_id,
        _MAX_REPLIES,
    )
    return [row["id"] for row in rows]


async def list_messages(tx: Tx, view: MessageView, limit: int, offset: int) -> Sequence[Row]:
    return await tx.all(
        f"{_SELECT_MESSAGES} where {_IN_VIEW} order by sequence limit $8 offset $9",
        *view.view_parameters,
        limit,
        offset,
    )


async def list_newest_messages(tx: Tx, view: MessageView, limit: int) -> list[Row]:
    rows = await tx.all(
        f"{_SELECT_MESSAGES} where {_IN_VIEW} order by sequence desc limit $8", *view.view_parameters, limit
    )
    return list(reversed(rows))


async def count_messages_in_view(tx: Tx, view: MessageView) -> int:
    """Count the messages of the view, whatever its `after`."""
    if view.has_time_bounds:
        row = await tx.one(
            f"select count(*) as n from context_message where {_IN_VIEW}",
            *(*view.visible_parameters, 0, view.since, view.until, view.sender),
        )
    else:
        row = await tx.one(
            f"select CAST(coalesce(sum(n), 0) as bigint) as n from context_tally where {_IS_VISIBLE}"
            " and (CAST($4 as text) is null or sender = $4)",
            *view.visible_parameters,
            view.sender,
        )
    return row["n"] if row else 0


async def count_messages_by_audience(tx: Tx, view: MessageView) -> dict[str, int]:
    rows = await tx.all(
        "select audience, CAST(sum(n) as bigint) as n from context_tally"
        f" where {_IS_VISIBLE} group by audience order by audience",
        *view.visible_parameters,
    )
    return {row["audience"]: row["n"] for row in rows}


async def list_messages_by_sequence(tx: Tx, view: MessageView, sequences: Sequence[int]) -> Sequence[Row]:
    return await tx.all(
        f"{_SELECT_MESSAGES} where {_IS_VISIBLE} and sequence = any($4) order by sequence",
        *view.visible_parameters,
        list(sequences),
    )


async def list_selection_candidates(tx: Tx, view: MessageView) -> list[Row]:
    """List sizes of the newest, the most answered, decisions and open questions, without texts."""
    columns = f"select sequence, size, mark, replies from context_message where {_IN_VIEW}"
    latest = "order by sequence desc limit $8"
    parts = (
        latest,
        f"and mark <> '' and mark = 'decision' {latest}",
        f"and mark <> '' and mark = 'question' and replies = 0 {latest}",
        "and replies > 0 order by replies desc, sequence desc limit $8",
    )
    row_by_sequence: dict[int, Row] = {}
    for part in parts:
        rows = await tx.all(f"{columns} {part}", *view.view_parameters, _CANDIDATES_PER_KIND)
        row_by_sequence |= {row["sequence"]: row for row in rows}
    return list(row_by_sequence.values())


async def list_message_acts(tx: Tx, project: str, session: str, after: int, limit: int) -> Sequence[Row]:
    """List who added which message, for the audit trail; without contents."""
    return await tx.all(
        "select sequence, id, audience, sender, key_id, message_type, at from context_message"
        " where project = $1 and session = $2 and sequence > $3 order by sequence limit $4",
        project,
        session,
        after,
        limit,
    )


async def load_purpose(tx: Tx, project: str, session: str) -> str:
    row = await tx.one("select purpose from context_session where project = $1 and id = $2", project, session)
    return row["purpose"] if row else ""


async def list_public_texts(
    tx: Tx, project: str, sessions: Sequence[str], messages: Sequence[str]
) -> Sequence[Row]:
    """Load public messages for the global search; messages with an audience are left out."""
    return await tx.all(
        "select m.session, m.id, s.purpose, m.content, m.message_type, m.sender, m.at from context_message m"
        " join context_session s on s.project = $1 and s.id = m.session"
        " where m.project = $1 and m.session = any($2) and m.id = any($3) and m.audience = ''",
        project,
        sessions,
        messages,
    )


async def find_messages_by_id(
    tx: Tx, project: str, id_prefix: str, audiences: Sequence[str]
) -> Sequence[Row]:
    """The messages for these audiences whose id begins so; two are enough to know that it is not unique."""
    first, last = message_id_range(id_prefix)
    rows = await tx.all(
        "select message.session, message.id, message.sequence, message.audience, message.sender,"
        " message.message_type, message.content, message.at, blackboard.purpose from context_message as message"
        " join context_session as blackboard on blackboard.project = $1"
        "  and blackboard.id = message.session"
        " where message.project = $1 and message.id >= $2 and message.id <= $3 and message.audience = any($4)"
        " order by message.id limit 2",
        project,
        first,
        last,
        list(audiences),
    )
    return [row for row in rows if row["id"].startswith(id_prefix)]


async def rename_author(tx: Tx, rename: AgentRename) -> None:
    """Messages and private notes of an agent that gets another name, on boards of its project and the shared ones."""
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
    await tx.run(
        "update context_message set owner = $4, sender = $5, audience = case"
        " when audience = 'agent:' || $3 then 'agent:' || $4"
        " when audience = 'type:/' || $3 then 'type:/' || $4 else audience end"
        " where project = $1 and session = any($2) and owner = $3",
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
