"""The agents of a project in the store."""

from collections.abc import Sequence
from typing import NamedTuple

from commonplace.access import Caller
from commonplace.store.database import Row, Tx

_BOUND = 200
# Grouping by the bare column would make SQLite walk the index on agents, and with it every session there ever was.
_THERE = (
    "select agent || '' as name, count(*) as n from session"
    " where project = $1 and ended_at is null and active_at > $3 group by agent || ''"
)


class Doing(NamedTuple):
    status: str = ""
    task: str = ""


async def doing(tx: Tx, project: str, name: str) -> Doing:
    row = await tx.one(
        "select status, current_task from agent where project = $1 and name = $2", project, name
    )
    return Doing(row["status"], row["current_task"]) if row else Doing()


async def beat(tx: Tx, project: str, name: str, status: str, task: str, now: int) -> None:
    """The agent is there; one that was taken off the roster does not come back by this."""
    await tx.run(
        "update agent set status = $3, current_task = $4, heartbeat_at = $5, last_seen_at = $5,"
        " last_task = case when $4 = '' then last_task else $4 end where project = $1 and name = $2",
        project,
        name,
        status,
        task,
        now,
    )


async def statuses(tx: Tx, project: str, name: str | None, live_since: int, now: int) -> Sequence[Row]:
    return await tx.all(
        "select agent.project, agent.name, agent.status, agent.current_task, agent.heartbeat_at,"
        " coalesce(there.n, 0) as sessions, coalesce(held.n, 0) as locks, count(*) over () as total from agent"
        f" left join ({_THERE}) as there on there.name = agent.name"
        " left join (select agent as name, count(*) as n from lease"
        "  where project = $1 and expires_at > $4 group by agent) as held"
        "  on held.name = agent.name"
        " where agent.project = $1 and (cast($2 as text) is null or agent.name = $2)"
        " order by agent.name limit $5",
        project,
        name,
        live_since,
        now,
        _BOUND,
    )


async def roster(tx: Tx, project: str, query: str, limit: int) -> Sequence[Row]:
    return await tx.all(
        "select project, name, tier, role_description, last_seen_at, session_count, last_task,"
        " count(*) over () as total from agent where project = $1"
        " and (lower(name) like $2 escape '!' or lower(role_description) like $2 escape '!')"
        " order by coalesce(last_seen_at, 0) desc, name limit $3",
        project,
        _containing(query),
        limit,
    )


async def administers(tx: Tx, project: str, caller: Caller, agent: str) -> bool:
    """Whether this caller, acting as this agent, is an admin of the project.

    A key is what its role says. A name proves nothing unless the key is bound to it, so the roster's tier counts
    only then, or where there are no keys at all.
    """
    if caller.operator or (caller.key and caller.includes("admin")):
        return True
    if caller.key and caller.agent != agent:
        return False
    row = await tx.one("select tier from agent where project = $1 and name = $2", project, agent)
    return row is not None and row["tier"] == "admin"


def _containing(text: str) -> str:
    literal = text.lower().replace("!", "!!").replace("%", "!%").replace("_", "!_")
    return f"%{literal}%"
