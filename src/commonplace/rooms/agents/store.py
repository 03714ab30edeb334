"""SQL for the status and roster of agents. A session start creates or updates the row: `rooms/sessions/store.py`."""

from collections.abc import Sequence

from commonplace.identity.liveness import RESTARTED_AT, is_live
from commonplace.rooms.work.model import EDITS_TITLE
from commonplace.store.database import Row, Tx

_MAX_STATUS_ROWS = 200
# Grouping by the bare column makes SQLite scan the index on agent, which holds every session, also ended ones.
_FROM_LIVE_SESSIONS = f"from session where project = $1 and {is_live('$3')} group by agent || ''"
_LIVE_SESSION_COUNTS = (
    f"select agent || '' as name, count(*) as n, max(active_at) as active_at {_FROM_LIVE_SESSIONS}"
)
_LIVE_SESSIONS = (
    "select agent || '' as name, count(*) as n, max(active_at) as active_at,"
    f" max({RESTARTED_AT}) as restarted_at {_FROM_LIVE_SESSIONS}"
)


_OF_SESSION = "from agent where agent.project = $1 and agent.name = session.agent"
STATUS_OF_SESSION = (
    f"(select status {_OF_SESSION}) as status, (select status_at {_OF_SESSION}) as status_at,"
    f" (select current_task {_OF_SESSION}) as current_task,"
    " exists (select 1 from work where work.project = $1 and work.session = $2"
    f" and work.title <> '{EDITS_TITLE}') as has_worked"
)
"""Of the agent of a session, beside its row; nothing if the agent was removed from the roster."""

ACTIVITY_OF_SESSION = (
    "active_at, (exists (select 1 from lease where project = $1 and session = $2)"
    " or exists (select 1 from lock_waiter where project = $1 and session = $2)"
    " or exists (select 1 from backlog_claim where project = $1 and session = $2)) as has_follow_up"
)
"""When a session was last active, and whether anything follows from its activity: leases or claims to renew, locks that it waits for."""


async def record_heartbeat(tx: Tx, project: str, name: str, status: str | None, task: str, now: int) -> None:
    """Update the agent's row. An agent that was removed from the roster is not added again."""
    await tx.queue(
        "update agent set status = coalesce(cast($3 as text), status), current_task = $4, heartbeat_at = $5,"
        " status_at = case when cast($3 as text) is null then status_at else $5 end, last_seen_at = $5,"
        " last_task = case when $4 = '' then last_task else $4 end where project = $1 and name = $2",
        project,
        name,
        status,
        task,
        now,
    )


async def list_agent_statuses(
    tx: Tx, project: str, name: str | None, live_since: int, now: int
) -> Sequence[Row]:
    return await tx.all(
        "select agent.project, agent.name, agent.status, agent.status_at, agent.current_task,"
        " agent.last_seen_at, live.active_at, live.restarted_at, held.locked_until,"
        " coalesce(live.n, 0) as sessions, coalesce(held.n, 0) as locks, worked.name is not null as has_worked,"
        " count(*) over () as total from agent"
        f" left join ({_LIVE_SESSIONS}) as live on live.name = agent.name"
        " left join (select agent as name, sum(case when expires_at > $4 then 1 else 0 end) as n,"
        "  max(expires_at) as locked_until from lease where project = $1 group by agent) as held"
        "  on held.name = agent.name"
        " left join (select distinct work.agent as name from work join session on session.project = $1"
        "  and session.id = work.session and session.ended_at is null and session.active_at > $3"
        "  where work.project = $1 and work.title <> $6) as worked on worked.name = agent.name"
        " where agent.project = $1 and (cast($2 as text) is null or agent.name = $2)"
        " order by agent.name limit $5",
        project,
        name,
        live_since,
        now,
        _MAX_STATUS_ROWS,
        EDITS_TITLE,
    )


async def search_agents(tx: Tx, project: str, query: str, live_since: int, limit: int) -> Sequence[Row]:
    """The agents, last seen first: a live session counts by its calls."""
    seen = "case when live.active_at > coalesce(agent.last_seen_at, 0) then live.active_at else agent.last_seen_at end"
    return await tx.all(
        f"select agent.project, agent.name, agent.tier, agent.role_description, {seen} as last_seen_at,"
        " agent.session_count, agent.last_task, count(*) over () as total from agent"
        f" left join ({_LIVE_SESSION_COUNTS}) as live on live.name = agent.name where agent.project = $1"
        " and (lower(agent.name) like $2 escape '!' or lower(agent.role_description) like $2 escape '!')"
        f" order by coalesce({seen}, 0) desc, agent.name limit $4",
        project,
        _like_pattern(query),
        live_since,
        limit,
    )


def _like_pattern(text: str) -> str:
    literal = text.lower().replace("!", "!!").replace("%", "!%").replace("_", "!_")
    return f"%{literal}%"
