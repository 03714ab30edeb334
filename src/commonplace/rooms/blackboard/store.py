"""Blackboards in the store. Every text of a message is read through `_SEEN`: no audience, no row."""

from collections.abc import Sequence
from dataclasses import dataclass

from commonplace.rooms.blackboard.model import EVER
from commonplace.store.database import Row, Tx

_SESSION = (
    "select project, id, purpose, metadata, status, summary, created_by, created_at, updated_at, closed_by,"
    " closed_at, last_sequence from context_session"
)
_MESSAGE = (
    "select id, sequence, audience, sender, content, metadata, message_type, parent, at from context_message"
)
_SEEN = "project = $1 and session = $2 and audience = any($3)"
_WANTED = f"{_SEEN} and sequence > $4 and at >= $5 and at <= $6 and (CAST($7 as text) is null or sender = $7)"
_REPLIES = 200
_CANDIDATES = 400


@dataclass(frozen=True, slots=True)
class View:
    """The part of one session that a reader may see, and wants to."""

    project: str
    session: str
    audiences: list[str]
    after: int = 0
    since: int = 0
    until: int = EVER
    sender: str | None = None

    @property
    def seen(self) -> tuple[str, str, list[str]]:
        return self.project, self.session, self.audiences

    @property
    def wanted(self) -> tuple[str, str, list[str], int, int, int, str | None]:
        return *self.seen, self.after, self.since, self.until, self.sender

    @property
    def timed(self) -> bool:
        return self.since > 0 or self.until < EVER


@dataclass(frozen=True, slots=True)
class Draft:
    """A message before it has its number."""

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
    idempotency_key: str | None = None


async def place(tx: Tx, session_id: str) -> str | None:
    row = await tx.one("select project from context_session_place where id = $1", session_id)
    return row["project"] if row else None


async def places(tx: Tx, first: str, last: str, limit: int) -> Sequence[Row]:
    return await tx.all(
        "select id, project from context_session_place where id >= $1 and id <= $2 order by id limit $3",
        first,
        last,
        limit,
    )


async def session(tx: Tx, project: str, session_id: str) -> Row | None:
    return await tx.one(f"{_SESSION} where project = $1 and id = $2", project, session_id)


async def add_session(
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


async def every_project(tx: Tx) -> list[str]:
    return [row["name"] for row in await tx.all("select name from project order by name limit 10000")]


async def sessions(
    tx: Tx, projects: list[str], active_only: bool, idle_since: int, limit: int, offset: int
) -> tuple[int, Sequence[Row]]:
    """How many sessions there are, and one page of them, the most recently used first."""
    where = "where project = any($1) and ($2 = 0 or (status = 'active' and updated_at > $3))"
    total = await tx.one(
        f"select count(*) as n from context_session {where}", projects, int(active_only), idle_since
    )
    page = await tx.all(
        f"{_SESSION} {where} order by updated_at desc, id limit $4 offset $5",
        projects,
        int(active_only),
        idle_since,
        limit,
        offset,
    )
    return (total["n"] if total else 0), page


async def close(
    tx: Tx, project: str, session_id: str, status: str, summary: str | None, agent: str, now: int
) -> Row | None:
    """The session, closed; who closed it first, and when, stays."""
    return await tx.one(
        "update context_session set status = $3, summary = coalesce(CAST($4 as text), summary),"
        " closed_by = case when closed_at is null then $5 else closed_by end,"
        " closed_at = coalesce(closed_at, CAST($6 as bigint))"
        " where project = $1 and id = $2 returning status, closed_at",
        project,
        session_id,
        status,
        summary,
        agent,
        now,
    )


async def close_idle(tx: Tx, projects: list[str], idle_since: int, now: int) -> Sequence[Row]:
    return await tx.all(
        "update context_session set status = 'completed', closed_by = 'idle', closed_at = $3"
        " where project = any($1) and status = 'active' and updated_at <= $2 returning project, id",
        projects,
        idle_since,
        now,
    )


async def tallies(
    tx: Tx, projects: list[str], sessions: list[str], audiences: list[str]
) -> dict[str, dict[str, int]]:
    """For each session the senders of what may be seen, and how many messages each has there."""
    rows = await tx.all(
        "select session, sender, CAST(sum(n) as bigint) as n from context_tally"
        " where project = any($1) and session = any($2) and audience = any($3) group by session, sender",
        projects,
        sessions,
        audiences,
    )
    found: dict[str, dict[str, int]] = {each: {} for each in sessions}
    for row in rows:
        found[row["session"]][row["sender"]] = row["n"]
    return found


async def hold(tx: Tx, project: str, session_id: str) -> None:
    """Until commit nobody else writes to this session."""
    await tx.run(
        "update context_session set last_sequence = last_sequence where project = $1 and id = $2",
        project,
        session_id,
    )


async def next_sequence(tx: Tx, project: str, session_id: str, idle_since: int, now: int) -> int | None:
    """The number of the next message; none if the session is closed. The row stays locked, so there are no gaps."""
    row = await tx.one(
        "update context_session set last_sequence = last_sequence + 1, updated_at = $4"
        " where project = $1 and id = $2 and status = 'active' and updated_at > $3 returning last_sequence",
        project,
        session_id,
        idle_since,
        now,
    )
    return row["last_sequence"] if row else None


async def sent_before(tx: Tx, draft: Draft) -> Row | None:
    return await tx.one(
        "select id, sequence, at from context_message"
        " where project = $1 and session = $2 and owner = $3"
        " and idempotency_key is not null and idempotency_key = $4",
        draft.project,
        draft.session,
        draft.owner,
        draft.idempotency_key,
    )


async def add(tx: Tx, draft: Draft, sequence: int) -> None:
    await tx.run(
        "insert into context_message (project, session, sequence, id, audience, sender, owner, key_id, message_type,"
        " mark, content, metadata, size, parent, replies, idempotency_key, at)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, 0, $15, $16)",
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
        draft.idempotency_key,
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


async def count_reply(tx: Tx, draft: Draft) -> None:
    await tx.run(
        "update context_message set replies = replies + 1 where project = $1 and session = $2 and id = $3",
        draft.project,
        draft.session,
        draft.parent,
    )


async def message(tx: Tx, view: View, first: str, last: str) -> Sequence[Row]:
    """The messages whose ids lie between two; more than one means that a beginning was ambiguous."""
    return await tx.all(
        f"{_MESSAGE} where {_SEEN} and id >= $4 and id <= $5 order by id limit 5", *view.seen, first, last
    )


async def replies(tx: Tx, view: View, message_id: str) -> list[str]:
    rows = await tx.all(
        f"select id from context_message where {_SEEN} and parent = $4 order by sequence limit $5",
        *view.seen,
        message_id,
        _REPLIES,
    )
    return [row["id"] for row in rows]


async def page(tx: Tx, view: View, limit: int, offset: int) -> Sequence[Row]:
    return await tx.all(
        f"{_MESSAGE} where {_WANTED} order by sequence limit $8 offset $9", *view.wanted, limit, offset
    )


async def newest(tx: Tx, view: View, limit: int) -> list[Row]:
    rows = await tx.all(f"{_MESSAGE} where {_WANTED} order by sequence desc limit $8", *view.wanted, limit)
    return list(reversed(rows))


async def count(tx: Tx, view: View) -> int:
    """How many messages the view has, wherever its pages begin."""
    if view.timed:
        row = await tx.one(
            f"select count(*) as n from context_message where {_WANTED}",
            *(*view.seen, 0, view.since, view.until, view.sender),
        )
    else:
        row = await tx.one(
            f"select CAST(coalesce(sum(n), 0) as bigint) as n from context_tally where {_SEEN}"
            " and (CAST($4 as text) is null or sender = $4)",
            *view.seen,
            view.sender,
        )
    return row["n"] if row else 0


async def audience_counts(tx: Tx, view: View) -> dict[str, int]:
    rows = await tx.all(
        "select audience, CAST(sum(n) as bigint) as n from context_tally"
        f" where {_SEEN} group by audience order by audience",
        *view.seen,
    )
    return {row["audience"]: row["n"] for row in rows}


async def by_sequence(tx: Tx, view: View, sequences: Sequence[int]) -> Sequence[Row]:
    return await tx.all(
        f"{_MESSAGE} where {_SEEN} and sequence = any($4) order by sequence", *view.seen, list(sequences)
    )


async def candidates(tx: Tx, view: View) -> list[Row]:
    """What a summary chooses from, without the texts: the newest, the most answered, decisions, open questions."""
    columns = f"select sequence, size, mark, replies from context_message where {_WANTED}"
    latest = "order by sequence desc limit $8"
    parts = (
        latest,
        f"and mark <> '' and mark = 'decision' {latest}",
        f"and mark <> '' and mark = 'question' and replies = 0 {latest}",
        "and replies > 0 order by replies desc, sequence desc limit $8",
    )
    found: dict[int, Row] = {}
    for part in parts:
        rows = await tx.all(f"{columns} {part}", *view.wanted, _CANDIDATES)
        found |= {row["sequence"]: row for row in rows}
    return list(found.values())


async def texts(tx: Tx, view: View, limit: int) -> Sequence[Row]:
    """What can be searched, in order."""
    return await tx.all(
        f"select sequence, sender, content, metadata from context_message where {_SEEN} and sequence > $4"
        " order by sequence limit $5",
        *view.seen,
        view.after,
        limit,
    )


async def acts(tx: Tx, project: str, session: str, after: int, limit: int) -> Sequence[Row]:
    """That messages were added, for the trail; never what they say."""
    return await tx.all(
        "select sequence, id, audience, sender, key_id, message_type, at from context_message"
        " where project = $1 and session = $2 and sequence > $3 order by sequence limit $4",
        project,
        session,
        after,
        limit,
    )


async def purpose(tx: Tx, project: str, session: str) -> str:
    row = await tx.one("select purpose from context_session where project = $1 and id = $2", project, session)
    return row["purpose"] if row else ""


async def public_texts(
    tx: Tx, project: str, sessions: Sequence[str], messages: Sequence[str]
) -> Sequence[Row]:
    """What the search over everything shows: nothing that has an audience of its own."""
    return await tx.all(
        "select m.session || '/' || m.id as id, s.purpose as title, m.content as text from context_message m"
        " join context_session s on s.project = m.project and s.id = m.session"
        " where m.project = $1 and m.session = any($2) and m.id = any($3) and m.audience = ''",
        project,
        sessions,
        messages,
    )
