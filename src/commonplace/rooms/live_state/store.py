"""SQL over several projects at once, for the live state; every statement is bounded."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from commonplace.clock import HOUR
from commonplace.identity.liveness import is_live
from commonplace.store.database import Row, Tx

_MAX_SESSIONS = 200
_MAX_FILES = 400
MAX_WAITING = 50
_MAX_RECENT_EVENTS = 3000
_MAX_PREVENTED = 1000
_EVENT_WINDOWS = (HOUR, 16 * HOUR)
_MAIL_COLUMNS = (
    "message.project, message.id, message.thread, message.sender, message.subject, message.body, message.category,"
    " message.created_at"
)
# These words are those of the partial indexes document_doubtful and audit_prevented, which are used for nothing else.
_IS_DOUBTFUL = "status in ('conflicted', 'review_pending')"
_MAY_BE_PREVENTED = (
    "(outcome in ('conflict', 'duplicate', 'stale_token', 'forbidden')"
    " or operation in ('memory_lock_files', 'memory_report_prevented'))"
)


@dataclass(frozen=True)
class EventFilters:
    now: int
    kinds: Sequence[str] = ()
    actor: str | None = None


async def list_live_sessions(tx: Tx, projects: Sequence[str], since: int) -> Sequence[Row]:
    """The branch is the one that its hooks saw last, else the one that it started on. Citus refuses these joins over
    several projects, so each project is asked."""
    found = await tx.together(*((_LIVE_SESSIONS, project, since, _MAX_SESSIONS) for project in projects))
    rows = sorted(chain(*found), key=lambda row: (-row["active_at"], row["id"]))
    return rows[:_MAX_SESSIONS]


_LIVE_SESSIONS = (
    "select session.project, session.id, session.agent, session.task,"
    " coalesce(nullif(checkout.branch, ''), session.branch) as branch,"
    " session.working_directory, session.tmux_target, session.started_at, session.active_at, session.parent,"
    " agent.status, agent.current_task from session"
    " left join agent on agent.project = session.project and agent.name = session.agent"
    " left join checkout on checkout.project = session.project and checkout.session = session.id"
    f" where session.project = $1 and {is_live('$2')}"
    " order by session.active_at desc, session.id limit $3"
)


async def list_leases(tx: Tx, projects: Sequence[str], now: int) -> Sequence[Row]:
    return await tx.all(
        "select project, path, session, agent, mode, reason, granted_at, expires_at from lease"
        " where project = any($1) and expires_at > $2 order by project, path limit $3",
        list(projects),
        now,
        _MAX_FILES,
    )


async def list_touched_files(tx: Tx, projects: Sequence[str], since: int) -> Sequence[Row]:
    return await tx.all(
        "select project, path, session, agent, at from touched where project = any($1) and at > $2"
        " order by at desc, path limit $3",
        list(projects),
        since,
        _MAX_FILES,
    )


async def list_recent_acts(tx: Tx, projects: Sequence[str], since: int) -> Sequence[Row]:
    """Who did something when, newest first."""
    return await tx.all(
        "select project, actor, kind, at from event where project = any($1) and at > $2 and actor <> ''"
        " order by at desc, n desc limit $3",
        list(projects),
        since,
        _MAX_RECENT_EVENTS,
    )


async def list_blocked_work(tx: Tx, projects: Sequence[str]) -> Sequence[Row]:
    return await tx.all(
        "select work.project, work.id, work.agent, work.title, work.blocked_by, work.blocked_reason,"
        " work.waiting_for, work.updated_at from work"
        " join session on session.project = work.project and session.id = work.session and session.ended_at is null"
        " where work.project = any($1) and work.status = 'blocked' order by work.updated_at desc, work.id limit $2",
        list(projects),
        MAX_WAITING,
    )


async def list_mail_for_agent(tx: Tx, projects: Sequence[str], agent: str, done_state: int) -> Sequence[Row]:
    """Open mail that asks this agent for something."""
    return await tx.all(
        f"select {_MAIL_COLUMNS} from delivery"
        " join message on message.project = delivery.project and message.id = delivery.message"
        " where delivery.project = any($1) and delivery.agent = $2 and delivery.state < $3"
        " and (message.priority = 'urgent' or message.require_human = 1"
        "  or message.category in ('question', 'review', 'blocker'))"
        " order by message.created_at desc, message.id limit $4",
        list(projects),
        agent,
        done_state,
        MAX_WAITING,
    )


async def list_mail_for_people(tx: Tx, projects: Sequence[str], done_state: int) -> Sequence[Row]:
    """Open mail that asks for a person, whoever received it."""
    return await tx.all(
        f"select {_MAIL_COLUMNS} from message where message.project = any($1) and message.require_human = 1"
        " and exists (select 1 from delivery where delivery.project = message.project"
        "  and delivery.message = message.id and delivery.state < $2)"
        " order by message.created_at desc, message.id limit $3",
        list(projects),
        done_state,
        MAX_WAITING,
    )


async def list_questions_of_items(tx: Tx, projects: Sequence[str]) -> Sequence[Row]:
    return await tx.all(
        "select project, id, title, assigned_to, created_by, updated_at from backlog"
        " where project = any($1) and closed = 0 and status = 'needs_info' order by updated_at desc, id limit $2",
        list(projects),
        MAX_WAITING,
    )


async def list_doubtful_documents(tx: Tx, projects: Sequence[str]) -> Sequence[Row]:
    """Documents that somebody disputed or wants reviewed."""
    return await tx.all(
        f"select project, id, title, author, changed_at from document where project = any($1) and {_IS_DOUBTFUL}"
        " order by changed_at desc, id limit $2",
        list(projects),
        MAX_WAITING,
    )


async def list_pending_agents(tx: Tx, projects: Sequence[str]) -> Sequence[Row]:
    return await tx.all(
        "select project, name, last_task, last_seen_at, created_at from agent where project = any($1)"
        " and tier = 'pending' order by created_at desc, name limit $2",
        list(projects),
        MAX_WAITING,
    )


async def list_prevented(tx: Tx, projects: Sequence[str], since: int) -> Sequence[Row]:
    """Writes that were refused, and locks that were not granted, newest first."""
    return await tx.all(
        "select project, at, operation, outcome, agent, detail from audit where project = any($1) and at > $2"
        f" and {_MAY_BE_PREVENTED} and (outcome in ('conflict', 'duplicate', 'stale_token', 'forbidden')"
        "  or operation = 'memory_lock_files' and detail like '%nothing was locked.'"
        "  or operation = 'memory_report_prevented' and outcome = 'ok' and detail not like 'rule_warned:%')"
        " order by at desc, id desc limit $3",
        list(projects),
        since,
        _MAX_PREVENTED,
    )


async def count_open_items(tx: Tx, projects: Sequence[str]) -> Row | None:
    """Two counts that indexes answer alone; one that reads each item's status takes 30 times as long."""
    return await tx.one(
        "select (select count(*) from backlog where project = any($1) and closed = 0) as open,"
        " (select count(*) from backlog where project = any($1) and closed = 0 and status = 'in_progress')"
        " as in_progress",
        list(projects),
    )


async def list_titles_of_items(tx: Tx, projects: Sequence[str], ids: Sequence[str]) -> Sequence[Row]:
    return await tx.all(
        "select project, id, title from backlog where project = any($1) and id = any($2)",
        list(projects),
        list(ids),
    )


async def count_live(tx: Tx, projects: Sequence[str], live_since: int, now: int, active_since: int) -> Row:
    found = await tx.together(
        *((_COUNT_LIVE, project, live_since, now, active_since) for project in projects)
    )
    rows = list(chain(*found))
    return {name: sum(row[name] for row in rows) for name in ("agents", "active", "locks")}


_COUNT_LIVE = (
    f"select (select count(*) from session where project = $1 and {is_live('$2')}) as agents,"
    f" (select count(*) from session where project = $1 and {is_live('$4')}) as active,"
    " (select count(*) from lease where project = $1 and expires_at > $3) as locks"
)


async def list_events_before(
    tx: Tx, projects: Sequence[str], after: int, before: tuple[int, int], filters: EventFilters, limit: int
) -> Sequence[Row]:
    """Events between two times, newest first.

    The events of several projects are sorted, however few are wanted, so first those of a short time are looked at.
    """
    latest = min(before[0], filters.now)
    for window in _EVENT_WINDOWS:
        if latest - window > after:
            rows = await _list_events_between(tx, projects, latest - window, before, filters, limit)
            if len(rows) == limit:
                return rows
    return await _list_events_between(tx, projects, after, before, filters, limit)


async def _list_events_between(
    tx: Tx, projects: Sequence[str], after: int, before: tuple[int, int], filters: EventFilters, limit: int
) -> Sequence[Row]:
    return await tx.all(
        "select project, n, at, kind, uri, actor, audience, body from event where project = any($1)"
        " and at > $2 and (at, n) < ($3, $4) and ($5 = 1 or kind = any($6))"
        " and (cast($7 as text) is null or actor = $7) order by at desc, n desc limit $8",
        list(projects),
        after,
        *before,
        int(not filters.kinds),
        list(filters.kinds),
        filters.actor,
        limit,
    )
