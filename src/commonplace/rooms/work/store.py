"""SQL for work items, touched files and signals."""

import secrets
from collections.abc import Mapping, Sequence

from commonplace.clock import DAY
from commonplace.identity.liveness import RESTARTED_AT, SESSION_LIVE_MICROSECONDS, is_live, is_superseded
from commonplace.identity.session import AgentSession
from commonplace.rooms.locks import paths as lock_paths
from commonplace.rooms.work.model import EDITS_TITLE, HANDED_OVER, OPEN_STATUSES
from commonplace.store.database import Row, Tx

_WORK_RETENTION = 14 * DAY
_MAX_OVERLAP_ROWS = 500
NEWEST_OPEN_WORK = (
    "coalesce((select work.title from work join session on session.project = $1 and session.id = work.session"
    " and session.ended_at is null and session.active_at > $5 where work.project = $1 and work.agent = $2"
    " and work.status = any($3) and work.title <> $4 order by work.updated_at desc, work.id limit 1), '')"
)


async def find_work_item(tx: Tx, session: AgentSession, title: str) -> Row | None:
    return await tx.one(
        "select id, title, item, status, files, notes, blocked_by, blocked_reason, waiting_for from work"
        " where project = $1 and session = $2 and title = $3",
        session.project,
        session.id,
        title,
    )


async def upsert_work_item(tx: Tx, session: AgentSession, columns: Mapping[str, str], now: int) -> str:
    """Insert or update the item of this session and title; return its id."""
    row = await tx.one(
        "insert into work (project, id, session, agent, title, status, files, notes, blocked_by, blocked_reason,"
        " waiting_for, created_at, updated_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12)"
        " on conflict (project, session, title) do update set status = excluded.status, files = excluded.files,"
        " notes = excluded.notes, blocked_by = excluded.blocked_by, blocked_reason = excluded.blocked_reason,"
        " waiting_for = excluded.waiting_for, updated_at = excluded.updated_at returning id",
        session.project,
        f"work_{secrets.token_hex(6)}",
        session.id,
        session.agent,
        columns["title"],
        columns["status"],
        columns["files"],
        columns["notes"],
        columns["blocked_by"],
        columns["blocked_reason"],
        columns["waiting_for"],
        now,
    )
    return row["id"] if row else ""


async def load_work_items(tx: Tx, project: str, work_ids: Sequence[str]) -> Sequence[Row]:
    return await tx.all(
        "select project, id, item, agent, title, status, files, notes, blocked_by, blocked_reason, waiting_for,"
        " created_at, updated_at from work where project = $1 and id = any($2)",
        project,
        list(work_ids),
    )


async def list_open_work_of_session(tx: Tx, session: AgentSession, limit: int) -> Sequence[Row]:
    return await tx.all(
        "select title, status, notes, blocked_by, blocked_reason, waiting_for from work where project = $1 and session = $2 and status = any($3)"
        " order by updated_at desc, id limit $4",
        session.project,
        session.id,
        OPEN_STATUSES,
        limit,
    )


async def list_touched_paths(tx: Tx, session: AgentSession, limit: int) -> list[str]:
    rows = await tx.all(
        "select path from touched where project = $1 and session = $2 order by at desc, path limit $3",
        session.project,
        session.id,
        limit,
    )
    return [row["path"] for row in rows]


async def list_work_of_session(tx: Tx, session: AgentSession) -> Sequence[Row]:
    """List what the session works or worked on, the newest first; without the edits that hooks report."""
    return await tx.all(
        "select id, title, item, status from work where project = $1 and session = $2 and title <> $3"
        " order by updated_at desc, id limit 50",
        session.project,
        session.id,
        EDITS_TITLE,
    )


async def move_open_work(tx: Tx, session: AgentSession, earlier: Sequence[str]) -> None:
    """Give the session the open work of earlier ones of its agent, so that its reports continue it; of two with one
    title the latest."""
    await tx.queue(
        "update work set session = $2 where project = $1 and session = any($3) and status = any($4)"
        " and not exists (select 1 from work as other where other.project = $1 and other.title = work.title"
        "  and other.session = any($3) and other.status = any($4) and (other.updated_at > work.updated_at"
        "   or other.updated_at = work.updated_at and other.id > work.id))",
        *(session.project, session.id, list(earlier), list(OPEN_STATUSES)),
    )


async def show_current_work(tx: Tx, session: AgentSession, now: int) -> None:
    """Let the agent's current task be the newest open work of its live sessions, or nothing when all is closed.

    That is newer than a status that it reported, so the status follows the work again; only an error stays.
    """
    await tx.queue(
        f"update agent set current_task = {NEWEST_OPEN_WORK},"
        " status_at = case when status = 'error' then status_at end where project = $1 and name = $2",
        session.project,
        session.agent,
        OPEN_STATUSES,
        EDITS_TITLE,
        now - SESSION_LIVE_MICROSECONDS,
    )


async def close_work_of_session(tx: Tx, project: str, session: str, now: int) -> None:
    """Hand over what is open when its session ends; also the work of claims that this end gave back.

    What it was blocked on stays, for the next session of its agent. Edits that hooks report are no task: they are done,
    and so is the work on a backlog item that is done.
    """
    await tx.queue(
        "delete from notice where project = $1 and kind = 'wait' and subject in"
        " (select id from work where project = $1 and session = $2 and status = 'blocked')",
        project,
        session,
    )
    await tx.queue(
        "update work set status = case when title = $5 or exists (select 1 from backlog where backlog.project = $1"
        "  and backlog.id = work.item and backlog.status = 'done') then 'completed' else $6 end, updated_at = $3"
        " where project = $1 and session = $2"
        " and (status = any($4) or status = 'abandoned' and item <> '' and updated_at = $3)",
        project,
        session,
        now,
        OPEN_STATUSES,
        EDITS_TITLE,
        HANDED_OVER,
    )


async def record_touched_files(tx: Tx, session: AgentSession, paths: Sequence[str], now: int) -> None:
    """Record that the session touched these canonical paths, in the working tree where it works now."""
    await tx.many(
        "insert into touched (project, path, session, prefix, agent, at, root)"
        " select session.project, $2, session.id, $4, $5, $6, coalesce(checkout.root, '') from session"
        " left join checkout on checkout.project = $1 and checkout.session = session.id"
        " where session.project = $1 and session.id = $3"
        " on conflict (project, path, session) do update set at = excluded.at, root = excluded.root",
        [
            (session.project, path, session.id, lock_paths.prefix_of_literal(path), session.agent, now)
            for path in paths
        ],
    )


async def list_files_touched_nearby(
    tx: Tx, session: AgentSession, paths: Sequence[str], since: int
) -> list[Row]:
    """List what other sessions touched at, above or below these paths, newest first; without the dormant ones of the
    same agent, which this one continues."""
    path_prefixes = [lock_paths.prefix_of_literal(path) for path in paths]
    row_by_key: dict[tuple[str, str], Row] = {}
    for condition, values in lock_paths.prefix_conditions("prefix", 6, path_prefixes, path_prefixes):
        rows = await tx.all(
            "select path, session, prefix, agent, at from touched"
            f" where project = $1 and session <> $2 and at > $3 and {condition} and not (agent = $5 and exists"
            f" (select 1 from session where session.project = $1 and session.id = touched.session"
            f"  and session.ended_at is null and {is_superseded()})) order by at desc, path limit $4",
            session.project,
            session.id,
            since,
            _MAX_OVERLAP_ROWS,
            session.agent,
            *values,
        )
        row_by_key |= {(row["path"], row["session"]): row for row in rows}
    return sorted(row_by_key.values(), key=lambda row: (-row["at"], row["path"]))


async def list_changes_by_others(tx: Tx, session: AgentSession, paths: Sequence[str]) -> Sequence[Row]:
    """List who touched these paths since this session did, or since it started, newest first."""
    return await tx.all(
        "select path, agent, at from touched where project = $1 and path = any($3) and session <> $2"
        " and at > (select started_at from session where project = $1 and id = $2)"
        " and at > coalesce((select own.at from touched as own where own.project = $1 and own.path = touched.path"
        " and own.session = $2), 0) order by at desc, path limit 50",
        session.project,
        session.id,
        list(paths),
    )


async def insert_signals(tx: Tx, session: AgentSession, names: Sequence[str], details: str, now: int) -> None:
    await tx.many(
        "insert into signal (project, at, id, name, agent, details) values ($1, $2, $3, $4, $5, $6)",
        [(session.project, now, secrets.token_hex(6), name, session.agent, details) for name in names],
    )


async def find_awaited(tx: Tx, project: str, names: Sequence[str], sender: str) -> Sequence[Row]:
    """Find the agents, backlog items, specs and own messages of these names, and whom each one depends on. A spec that the
    sender has not read is there: nobody need wait for it."""
    return await tx.all(
        "select 'agent' as kind, name, name as agent, '' as state, 0 as closed from agent"
        " where project = $1 and name = any($2)"
        " union all select 'item', id, case when assigned_to = '' then created_by else assigned_to end, status, closed"
        " from backlog where project = $1 and id = any($2)"
        " union all select 'spec', name, owner, version, case when $3 <> '' and owner <> $3 and not exists"
        "  (select 1 from spec_reader where spec_reader.project = $1 and spec_reader.name = spec.name"
        "   and spec_reader.agent = $3) then 1 else 0 end from spec where project = $1 and name = any($2)"
        " union all select 'message', message.id, delivery.agent, '', 0 from message"
        " join delivery on delivery.project = message.project and delivery.message = message.id"
        " where message.project = $1 and message.id = any($2) and message.sender = $3 order by 1, 2, 3 limit 50",
        project,
        list(names),
        sender,
    )


async def list_waiting_work(tx: Tx, project: str) -> Sequence[Row]:
    """List the work that waits for something; `is_item_blocked` if its backlog item says so, which alone can end it."""
    return await tx.all(
        "select id, session, agent, title, item, blocked_by, waiting_for, exists (select 1 from backlog"
        " where backlog.project = $1 and backlog.id = work.item and backlog.status = 'blocked') as is_item_blocked"
        " from work where project = $1 and status = 'blocked' and (blocked_by <> '' or waiting_for <> '')"
        " order by agent, title limit 1000",
        project,
    )


async def list_waits_left(tx: Tx, project: str, agent: str, since: int, limit: int) -> Sequence[Row]:
    """List the waits that ended with an earlier session of the agent, unless it worked on the same since.

    A backlog item that is blocked itself shows its own reason.
    """
    return await tx.all(
        "select title, item, blocked_by, blocked_reason, waiting_for, updated_at from work where project = $1"
        " and agent = $2 and status = any($5) and (blocked_by <> '' or blocked_reason <> '' or waiting_for <> '')"
        " and updated_at > $3 and not exists (select 1 from work as later where later.project = $1"
        "  and later.agent = $2 and later.created_at > work.created_at"
        "  and (later.title = work.title or later.item <> '' and later.item = work.item))"
        " and not exists (select 1 from backlog where backlog.project = $1 and backlog.id = work.item"
        "  and (backlog.closed = 1 or backlog.status = 'blocked' or backlog.assigned_to not in ('', $2)))"
        " order by updated_at desc, id limit $4",
        project,
        agent,
        since,
        limit,
        (HANDED_OVER, "abandoned"),
    )


async def unblock_work(tx: Tx, project: str, work_ids: Sequence[str], now: int) -> None:
    await tx.queue(
        "update work set status = 'in_progress', waiting_for = '', blocked_by = '', blocked_reason = '',"
        " updated_at = $3 where project = $1 and id = any($2)",
        project,
        list(work_ids),
        now,
    )


async def list_signals(
    tx: Tx, project: str, since: int, limit: int, *, agent: str | None = None, name: str | None = None
) -> Sequence[Row]:
    return await tx.all(
        "select name, agent, at, details from signal where project = $1 and at > $2"
        " and (cast($4 as text) is null or agent = $4) and (cast($5 as text) is null or name = $5)"
        " order by at desc, id limit $3",
        project,
        since,
        limit,
        agent,
        name,
    )


async def list_active_sessions(
    tx: Tx, project: str, since: int, limit: int, agent: str | None = None
) -> Sequence[Row]:
    return await tx.all(
        "select session.id, session.agent, coalesce(nullif(agent.current_task, ''), session.task) as task,"
        f" session.active_at, {RESTARTED_AT} as restarted_at from session"
        " join agent on agent.project = $1 and agent.name = session.agent where session.project = $1"
        f" and {is_live('$2')}"
        " and (cast($4 as text) is null or session.agent = $4) order by session.active_at desc, session.id limit $3",
        project,
        since,
        limit,
        agent,
    )


async def list_work_in_progress(tx: Tx, project: str, sessions: Sequence[str]) -> Sequence[Row]:
    return await tx.all(
        "select session, title, files from work where project = $1 and session = any($2)"
        " and status = 'in_progress' order by updated_at desc, id limit 500",
        project,
        sessions,
    )


async def list_work_items(
    tx: Tx, project: str, since: int, limit: int, agent: str | None = None
) -> Sequence[Row]:
    """List the latest state of each piece of work: of an agent and backlog item, or else of an agent and title.

    `resolution` and `completed_at` are those of its backlog item, if that is done.
    """
    return await tx.all(
        "select work.id, work.session, work.title, work.agent, work.status, work.files, work.notes, work.updated_at,"
        " done.resolution, done.completed_at from work"
        " left join backlog as done on done.project = $1 and done.id = work.item and done.status = 'done'"
        " where work.project = $1"
        " and work.updated_at > $2 and (cast($4 as text) is null or work.agent = $4)"
        " and not exists (select 1 from work as later where later.project = $1 and later.agent = work.agent"
        "  and later.updated_at >= work.updated_at and later.id <> work.id and (later.updated_at > work.updated_at"
        "  or later.created_at > work.created_at or later.created_at = work.created_at and later.id < work.id)"
        "  and (later.item = work.item or later.item = '' or work.item = '')"
        "  and (later.title = work.title or later.item <> '' and later.item = work.item))"
        " order by work.updated_at desc, work.id limit $3",
        project,
        since,
        limit,
        agent,
    )


_SELECT_BLOCKED = (
    "select work.agent, work.title, work.blocked_by, work.blocked_reason, work.waiting_for, work.updated_at"
    " from work join session on session.project = $1 and session.id = work.session and session.ended_at is null"
    " where work.project = $1 and work.status = 'blocked'"
)


async def list_blocked_work(tx: Tx, project: str, limit: int, agent: str | None = None) -> Sequence[Row]:
    return await tx.all(
        f"{_SELECT_BLOCKED} and (cast($3 as text) is null or work.agent = $3)"
        " order by work.updated_at desc, work.id limit $2",
        project,
        limit,
        agent,
    )


async def list_work_blocked_by_agent(tx: Tx, project: str, agent: str, limit: int) -> Sequence[Row]:
    """List items that wait for this agent, an item or spec of it, or a signal that it has sent before."""
    return await tx.all(
        f"{_SELECT_BLOCKED} and work.agent <> $2 and (work.blocked_by = $2"
        " or work.blocked_by in (select id from backlog where project = $1 and assigned_to = $2 and closed = 0)"
        " or work.blocked_by in (select name from spec where project = $1 and owner = $2)"
        " or work.waiting_for <> '' and exists"
        " (select 1 from signal where signal.project = $1 and signal.name = work.waiting_for"
        " and signal.agent = $2)) order by work.updated_at desc, work.id limit $3",
        project,
        agent,
        limit,
    )
