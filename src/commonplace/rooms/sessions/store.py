"""Sessions, and the agents they belong to, in the store."""

from collections.abc import Mapping, Sequence

from commonplace.activity import Session
from commonplace.clock import DAY
from commonplace.rooms.sessions.arrival import Arrival, Given
from commonplace.store.database import Row, Tx

_LIVE_BOUND = 50
_PATTERNS_BOUND = 500


async def enter_project(tx: Tx, project: str, now: int) -> bool:
    """Whether the project is registered; an unknown one is written down."""
    row = await tx.one("select registered from project where name = $1", project)
    if row is None:
        await tx.run(
            "insert into project (name, display_name, registered, ignore_case, created_at)"
            " values ($1, $1, 0, 0, $2) on conflict (name) do nothing",
            project,
            now,
        )
    return bool(row and row["registered"])


async def agents_named(tx: Tx, project: str, names: Sequence[str]) -> Mapping[str, Row]:
    rows = await tx.all(
        "select name, tier, role_description,"
        " (select max(started_at) from session where session.project = $1 and session.agent = agent.name)"
        " as previous_start from agent where project = $1 and name = any($2)",
        project,
        names,
    )
    return {row["name"]: row for row in rows}


async def live(tx: Tx, project: str, agent: str, since: int) -> Sequence[Row]:
    """The sessions that are there, this agent's own first, then the most recently active."""
    return await tx.all(
        "select session.id, session.agent, session.task, session.active_at, agent.status, agent.current_task"
        " from session left join agent on agent.project = $1 and agent.name = session.agent"
        " where session.project = $1 and session.ended_at is null and session.active_at > $2"
        " order by case when session.agent = $3 then 0 else 1 end, session.active_at desc, session.id limit $4",
        project,
        since,
        agent,
        _LIVE_BOUND,
    )


async def agents_with_patterns(tx: Tx, project: str) -> Sequence[Row]:
    return await tx.all(
        "select name, role_description, path_patterns from agent"
        " where project = $1 and path_patterns <> '[]' and tier <> 'pending' order by name limit $2",
        project,
        _PATTERNS_BOUND,
    )


async def add(tx: Tx, session: Session, given: Given, now: int) -> None:
    await tx.run(
        "insert into session (project, id, agent, agent_type, key_id, task, role_description, working_directory,"
        " spawned_by, tmux_target, started_at, active_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11)",
        session.project,
        session.id,
        session.agent,
        session.agent_type,
        session.key_id,
        given.task,
        given.role,
        session.working_directory,
        given.spawned_by,
        given.tmux_target,
        now,
    )


async def count_session(tx: Tx, project: str, arrived: Arrival, task: str, now: int) -> None:
    """The agent began another session; its tier stays as it is, its task gives way only to another."""
    await tx.run(
        "insert into agent (project, name, tier, role_description, path_patterns, status, current_task, last_task,"
        " session_count, last_seen_at, created_at) values ($1, $2, $3, $4, '[]', 'idle', $5, $5, 1, $6, $6)"
        " on conflict (project, name) do update set session_count = agent.session_count + 1,"
        " role_description = excluded.role_description, last_seen_at = excluded.last_seen_at,"
        " current_task = case when excluded.last_task = '' then agent.current_task else excluded.last_task end,"
        " last_task = case when excluded.last_task = '' then agent.last_task else excluded.last_task end",
        project,
        arrived.agent,
        arrived.tier,
        arrived.role,
        task,
        now,
    )


async def end(tx: Tx, session: Session, now: int) -> bool:
    """End it once; whether this call did."""
    ended = await tx.run(
        "update session set ended_at = $3, active_at = $3 where project = $1 and id = $2 and ended_at is null",
        session.project,
        session.id,
        now,
    )
    return bool(ended)


async def rest_agent(tx: Tx, session: Session, live_since: int, now: int) -> None:
    """With its last session an agent has nothing in hand."""
    await tx.run(
        "update agent set status = 'idle', current_task = '', last_seen_at = $3 where project = $1 and name = $2"
        " and not exists (select 1 from session where session.project = $1 and session.agent = $2"
        " and session.ended_at is null and session.active_at > $4)",
        session.project,
        session.agent,
        now,
        live_since,
    )


async def delete_old_sessions(tx: Tx, now: int) -> None:
    """Sessions that nobody used, notices that nobody came for, workers that were not seen again."""
    projects = [row["name"] for row in await tx.all("select name from project")]
    for rows, kept in (
        ("session where active_at < $2", 90 * DAY),
        ("notice where at < $2", 7 * DAY),
        ("agent where last_seen_at < $2 and tier = 'worker'", 30 * DAY),
    ):
        await tx.run(f"delete from {rows} and project = any($1)", projects, now - kept)
