"""SQL for the status and roster of agents. A session start creates or updates the row: `rooms/sessions/store.py`."""

from collections.abc import Sequence
from typing import NamedTuple

from commonplace.store.database import Row, Tx

_MAX_STATUS_ROWS = 200
# Grouping by the bare column makes SQLite scan the index on agent, which holds every session, also ended ones.
_LIVE_SESSION_COUNTS = (
    "select agent || '' as name, count(*) as n from session"
    " where project = $1 and ended_at is null and active_at > $3 group by agent || ''"
)


class ReportedStatus(NamedTuple):
    status: str = ""
    task: str = ""


async def load_reported_status(tx: Tx, project: str, name: str) -> ReportedStatus:
    row = await tx.one(
        "select status, current_task from agent where project = $1 and name = $2", project, name
    )
    return ReportedStatus(row["status"], row["current_task"]) if row else ReportedStatus()


async def record_heartbeat(tx: Tx, project: str, name: str, status: str, task: str, now: int) -> None:
    """Update the agent's row. An agent that was removed from the roster is not added again."""
    await tx.run(
        "update agent set status = $3, current_task = $4, heartbeat_at = $5, last_seen_at = $5,"
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
        "select agent.project, agent.name, agent.status, agent.current_task, agent.heartbeat_at,"
        " coalesce(live.n, 0) as sessions, coalesce(held.n, 0) as locks, count(*) over () as total from agent"
        f" left join ({_LIVE_SESSION_COUNTS}) as live on live.name = agent.name"
        " left join (select agent as name, count(*) as n from lease"
        "  where project = $1 and expires_at > $4 group by agent) as held"
        "  on held.name = agent.name"
        " where agent.project = $1 and (cast($2 as text) is null or agent.name = $2)"
        " order by agent.name limit $5",
        project,
        name,
        live_since,
        now,
        _MAX_STATUS_ROWS,
    )


async def search_agents(tx: Tx, project: str, query: str, limit: int) -> Sequence[Row]:
    return await tx.all(
        "select project, name, tier, role_description, last_seen_at, session_count, last_task,"
        " count(*) over () as total from agent where project = $1"
        " and (lower(name) like $2 escape '!' or lower(role_description) like $2 escape '!')"
        " order by coalesce(last_seen_at, 0) desc, name limit $3",
        project,
        _like_pattern(query),
        limit,
    )


def _like_pattern(text: str) -> str:
    literal = text.lower().replace("!", "!!").replace("%", "!%").replace("_", "!_")
    return f"%{literal}%"
