"""SQL of handoffs that are not finished. Their texts are documents of the type `handoff` (rooms/knowledge)."""

from collections.abc import Sequence

from commonplace.identity.session import AgentSession
from commonplace.store.database import Row, Tx

_MAX_OPEN_HANDOFFS = 100


async def insert_handoff(tx: Tx, session: AgentSession, document: str, status: str, now: int) -> None:
    """Insert the handoff of an ending session, with the directory, branch and task that it belongs to."""
    await tx.queue(
        "insert into handoff (project, id, agent, directory, branch, task, status, closed_by, created_at, automatic, session)"
        " select project, cast($3 as text), agent, working_directory, branch, task, cast($5 as text), '',"
        " cast($4 as bigint), 0, id from session"
        " where project = $1 and id = $2",
        session.project,
        session.id,
        document,
        now,
        status,
    )


async def list_open_handoffs(tx: Tx, project: str, now: int) -> Sequence[Row]:
    """List open handoffs whose document is active, newest first; `is_resumed` if their agent has worked since."""
    return await tx.all(
        "select handoff.id, handoff.agent, handoff.directory, handoff.branch, handoff.task, handoff.session, document.title,"
        " document.content, document.author, document.files, document.flags, document.created_at,"
        " exists (select 1 from session where session.project = $1 and session.agent = handoff.agent"
        "  and session.started_at > handoff.created_at) as is_resumed from handoff"
        " join document on document.project = $1 and document.id = handoff.id"
        " where handoff.project = $1 and handoff.status = 'open' and document.status = 'active'"
        " and (document.expires_at is null or document.expires_at > $2)"
        " order by handoff.created_at desc, handoff.id limit $3",
        project,
        now,
        _MAX_OPEN_HANDOFFS,
    )


async def list_items_of_sessions(tx: Tx, project: str, sessions: Sequence[str]) -> dict[str, set[str]]:
    """The backlog items that each of these sessions worked on."""
    items: dict[str, set[str]] = {}
    for row in await tx.all(
        "select session, item from work where project = $1 and session = any($2) and item <> ''",
        project,
        list(sessions),
    ):
        items.setdefault(row["session"], set()).add(row["item"])
    return items


async def load_closing_times(tx: Tx, project: str, items: Sequence[str]) -> dict[str, int]:
    """When each of these backlog items was closed; those that are open are missing."""
    rows = await tx.all(
        "select id, completed_at from backlog where project = $1 and id = any($2) and closed = 1",
        project,
        list(items),
    )
    return {row["id"]: row["completed_at"] for row in rows}


async def is_open_handoff(tx: Tx, project: str, document: str) -> bool:
    row = await tx.one(
        "select 1 as yes from handoff where project = $1 and id = $2 and status = 'open'", project, document
    )
    return row is not None


async def is_handoff(tx: Tx, project: str, document: str) -> bool:
    row = await tx.one(
        "select 1 as yes from document where project = $1 and id = $2 and type = 'handoff'", project, document
    )
    return row is not None


async def close_handoffs(tx: Tx, project: str, ids: Sequence[str], agent: str, now: int) -> None:
    await tx.queue(
        "update handoff set status = 'taken', closed_by = $3, closed_at = $4"
        " where project = $1 and id = any($2) and status = 'open'",
        project,
        list(ids),
        agent,
        now,
    )


async def replace_handoffs(tx: Tx, session: AgentSession, document: str, now: int) -> None:
    """Close what the agent left before for the same directory and branch; this document replaces it."""
    await tx.queue(
        "update handoff set status = 'replaced', closed_by = agent, closed_at = $4"
        " where project = $1 and status = 'open' and id <> $3 and exists (select 1 from handoff as newer"
        "  where newer.project = $1 and newer.id = $3 and newer.agent = handoff.agent"
        "  and newer.directory = handoff.directory and newer.branch = handoff.branch)"
        " and agent = $2",
        session.project,
        session.agent,
        document,
        now,
    )
