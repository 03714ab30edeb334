"""SQL of the standup: what was finished and learned since a time, and what is open; every statement is bounded."""

from collections.abc import Sequence

from commonplace.rooms.sessions.handoffs import drop_finished_handoffs
from commonplace.store.database import Row, Tx

_MAX_ROWS = 300


async def list_completed_items(tx: Tx, projects: Sequence[str], since: int) -> Sequence[Row]:
    """`+closed` because an index by it would read every item that was ever finished."""
    return await tx.all(
        "select project, id, title, status, resolution, completed_by, completed_at from backlog"
        " where project = any($1) and completed_at > $2 and +closed = 1 order by completed_at desc, id limit $3",
        list(projects),
        since,
        _MAX_ROWS,
    )


async def list_completed_work(tx: Tx, projects: Sequence[str], since: int) -> Sequence[Row]:
    return await tx.all(
        "select project, id, agent, title, notes, updated_at from work where project = any($1)"
        " and status = 'completed' and updated_at > $2 order by updated_at desc, id limit $3",
        list(projects),
        since,
        _MAX_ROWS,
    )


async def list_documents(tx: Tx, projects: Sequence[str], since: int) -> Sequence[Row]:
    """Documents that were stored since then; handoffs with their text.

    `status || ''` because nearly all documents are active: an index by status would read them all.
    """
    return await tx.all(
        "select project, id, type, title, author, created_at, case when type = 'handoff' then content else '' end as content"
        " from document where project = any($1) and created_at > $2 and status || '' = 'active'"
        " order by created_at desc, id limit $3",
        list(projects),
        since,
        _MAX_ROWS,
    )


async def list_heads(tx: Tx, projects: Sequence[str], since: int) -> Sequence[Row]:
    """The commits that hooks last saw checked out in sessions that were active since then."""
    return await tx.all(
        "select session.project, session.agent, checkout.branch, checkout.head from checkout"
        " join session on session.project = checkout.project and session.id = checkout.session"
        " where checkout.project = any($1) and session.active_at > $2 and checkout.head <> ''"
        " order by session.active_at desc, checkout.session limit $3",
        list(projects),
        since,
        _MAX_ROWS,
    )


async def count_touched_files(tx: Tx, projects: Sequence[str], since: int) -> Sequence[Row]:
    return await tx.all(
        "select project, agent, count(distinct path) as files from touched where project = any($1) and at > $2"
        " group by project, agent",
        list(projects),
        since,
    )


async def list_open_items(tx: Tx, projects: Sequence[str]) -> Sequence[Row]:
    return await tx.all(
        "select project, id, title, status, assigned_to, updated_at from backlog where project = any($1) and closed = 0"
        " and status in ('in_progress', 'needs_info', 'blocked') order by updated_at desc, id limit $2",
        list(projects),
        _MAX_ROWS,
    )


async def list_open_handoffs(tx: Tx, projects: Sequence[str], since: int) -> Sequence[Row]:
    """Open handoffs since then; those whose backlog items were all closed are finished."""
    rows = await tx.all(
        "select handoff.project, handoff.id, handoff.agent, handoff.task, handoff.created_at, handoff.session, document.title,"
        " document.content from handoff"
        " join document on document.project = handoff.project and document.id = handoff.id"
        " where handoff.project = any($1) and handoff.status = 'open' and handoff.created_at > $2"
        " order by handoff.created_at desc, handoff.id limit $3",
        list(projects),
        since,
        _MAX_ROWS,
    )
    unfinished = {
        (project, row["id"])
        for project in {row["project"] for row in rows}
        for row in await drop_finished_handoffs(
            tx, project, [row for row in rows if row["project"] == project]
        )
    }
    return [row for row in rows if (row["project"], row["id"]) in unfinished]
