"""SQL for work on backlog items: what a claim opens, links or closes. All other work: `store.py`."""

import secrets
from collections.abc import Sequence

from commonplace.identity.liveness import SESSION_LIVE_MICROSECONDS
from commonplace.identity.session import AgentSession
from commonplace.rooms.work.model import EDITS_TITLE, OPEN_STATUSES
from commonplace.rooms.work.store import NEWEST_OPEN_WORK
from commonplace.store.database import Row, Tx


async def find_work_of_item(tx: Tx, session: AgentSession, item: str) -> Row | None:
    """The id and title of the session's open work on a backlog item, and what it waits for."""
    return await tx.one(
        "select id, title, blocked_by, blocked_reason, waiting_for from work where project = $1 and session = $2 and item = $3 and status = any($4)"
        " order by updated_at desc, id limit 1",
        session.project,
        session.id,
        item,
        OPEN_STATUSES,
    )


async def list_open_needs(tx: Tx, project: str, works: Sequence[Row]) -> Sequence[Row]:
    """List what the backlog items of this work still depend on: those that were claimed for it, and those of its agent
    that have its title."""
    return await tx.all(
        "select backlog.id as item, backlog.title, backlog.assigned_to, needed.id as needs, needed.title as needs_title"
        " from backlog join backlog_need on backlog_need.project = backlog.project and backlog_need.item = backlog.id"
        " join backlog as needed on needed.project = backlog_need.project and needed.id = backlog_need.needs"
        " where backlog.project = $1 and backlog.closed = 0 and needed.closed = 0"
        " and (backlog.id = any($2) or backlog.assigned_to = any($3) and backlog.title = any($4))"
        " order by backlog.id, needed.id limit 100",
        project,
        [row["item"] for row in works],
        [row["agent"] for row in works],
        [row["title"] for row in works],
    )


async def is_item_open(tx: Tx, project: str, item: str, agent: str) -> bool:
    """Does the agent still have this backlog item to do?"""
    row = await tx.one(
        "select 1 as yes from backlog where project = $1 and id = $2 and assigned_to = $3 and closed = 0",
        project,
        item,
        agent,
    )
    return row is not None


async def start_work_of_item(tx: Tx, session: AgentSession, title: str, item: str, now: int) -> str:
    """Insert the work of a claimed backlog item, or set it in progress and keep the rest of it; return its id."""
    row = await tx.one(
        "insert into work (project, id, session, agent, title, status, files, notes, blocked_by, blocked_reason,"
        " waiting_for, item, created_at, updated_at)"
        " values ($1, $2, $3, $4, $5, 'in_progress', '[]', '', '', '', '', $6, $7, $7)"
        " on conflict (project, session, title) do update set status = 'in_progress', item = excluded.item,"
        " blocked_by = '', blocked_reason = '', waiting_for = '', updated_at = excluded.updated_at returning id",
        session.project,
        f"work_{secrets.token_hex(6)}",
        session.id,
        session.agent,
        title,
        item,
        now,
    )
    return row["id"] if row else ""


async def link_work_to_item(tx: Tx, project: str, work_id: str, item: str, now: int) -> None:
    """Let reported work be that of a claimed backlog item; it keeps the title that its agent gave it."""
    await tx.queue(
        "update work set item = $3, status = 'in_progress', blocked_by = '', blocked_reason = '', waiting_for = '',"
        " updated_at = $4 where project = $1 and id = $2",
        project,
        work_id,
        item,
        now,
    )


async def block_work_of_item(
    tx: Tx, projects: Sequence[str], item: str, blocked_by: str, reason: str, now: int
) -> Sequence[Row]:
    """Show the open work on a backlog item as blocked, like the item; return what changed.

    What the work itself reported to wait for stays where the item says nothing.
    """
    return await tx.all(
        "update work set status = 'blocked', blocked_by = case when $3 = '' then blocked_by else $3 end,"
        " blocked_reason = case when $4 = '' then blocked_reason else $4 end, updated_at = $5"
        " where project = any($1) and item = $2 and status = any($6) returning project, id, title, files",
        list(projects),
        item,
        blocked_by,
        reason,
        now,
        OPEN_STATUSES,
    )


async def unblock_work_of_item(tx: Tx, projects: Sequence[str], item: str, now: int) -> Sequence[Row]:
    """Set the blocked work on a backlog item in progress again; return what changed."""
    return await tx.all(
        "update work set status = 'in_progress', blocked_by = '', blocked_reason = '', waiting_for = '',"
        " updated_at = $3 where project = any($1) and item = $2 and status = 'blocked'"
        " returning project, id, title, files",
        list(projects),
        item,
        now,
    )


async def list_blocked_work_of_item(tx: Tx, project: str, item: str) -> Sequence[Row]:
    """The blocked work on a backlog item in sessions that have not ended, the newest first."""
    return await tx.all(
        "select work.agent, work.session, work.blocked_by, work.blocked_reason, work.waiting_for from work"
        " join session on session.project = $1 and session.id = work.session and session.ended_at is null"
        " where work.project = $1 and work.item = $2 and work.status = 'blocked'"
        " order by work.updated_at desc, work.id limit 20",
        project,
        item,
    )


async def load_item_titles(tx: Tx, project: str, items: Sequence[str]) -> dict[str, str]:
    """The titles of these backlog items of the project, by id."""
    rows = await tx.all(
        "select id, title from backlog where project = $1 and id = any($2)", project, list(items)
    )
    return {row["id"]: row["title"] for row in rows}


async def close_work_of_item(
    tx: Tx, projects: Sequence[str], agents: Sequence[str], title: str, item: str, status: str, now: int
) -> None:
    """Close open work of these agents on a backlog item: by its link, its title, or its id in the title.

    Work that ended as abandoned when its agent lost the item is completed, too, if that agent has done it after all.
    An agent whose current task it was goes on to the next one, or has none.
    """
    closed = await tx.all(
        "update work set status = $6, updated_at = $7 where project = any($1) and agent = any($2)"
        " and (status = any($5) and (item = $4 or lower(title) = lower($3) or replace(title, $4, '') <> title)"
        " or $6 = 'completed' and status = 'abandoned' and item = $4) returning project, agent, title",
        list(projects),
        list(agents),
        title,
        item,
        OPEN_STATUSES,
        status,
        now,
    )
    await tx.many(
        f"update agent set current_task = {NEWEST_OPEN_WORK},"
        " status_at = case when status = 'error' then status_at end"
        " where project = $1 and name = $2 and current_task = $6",
        [
            (
                row["project"],
                row["agent"],
                OPEN_STATUSES,
                EDITS_TITLE,
                now - SESSION_LIVE_MICROSECONDS,
                row["title"],
            )
            for row in closed
        ],
    )
