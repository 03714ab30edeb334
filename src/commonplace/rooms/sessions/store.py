"""SQL for sessions and the agent rows that a session start or end changes. Activity of calls: `activity.py`."""

from collections.abc import Mapping, Sequence

from commonplace.activity import AgentSession
from commonplace.clock import DAY
from commonplace.project import list_all_project_names
from commonplace.rooms.sessions.agent_identity import ResolvedAgent, SessionRequest
from commonplace.store.database import Row, Tx

_MAX_LIVE_SESSIONS = 50
_MAX_PATTERN_AGENTS = 500


async def load_agents_by_name(tx: Tx, project: str, names: Sequence[str]) -> Mapping[str, Row]:
    rows = await tx.all(
        "select name, tier, role_description,"
        " (select max(started_at) from session where session.project = $1 and session.agent = agent.name)"
        " as previous_start from agent where project = $1 and name = any($2)",
        project,
        names,
    )
    return {row["name"]: row for row in rows}


async def list_live_sessions(tx: Tx, project: str, agent: str, since: int) -> Sequence[Row]:
    """List live sessions, this agent's own first, then the most recently active."""
    return await tx.all(
        "select session.id, session.agent, session.task, session.active_at, agent.status, agent.current_task"
        " from session left join agent on agent.project = $1 and agent.name = session.agent"
        " where session.project = $1 and session.ended_at is null and session.active_at > $2"
        " order by case when session.agent = $3 then 0 else 1 end, session.active_at desc, session.id limit $4",
        project,
        since,
        agent,
        _MAX_LIVE_SESSIONS,
    )


async def list_agents_with_path_patterns(tx: Tx, project: str) -> Sequence[Row]:
    return await tx.all(
        "select name, role_description, path_patterns from agent"
        " where project = $1 and path_patterns <> '[]' and tier <> 'pending' order by name limit $2",
        project,
        _MAX_PATTERN_AGENTS,
    )


async def insert_session(tx: Tx, session: AgentSession, request: SessionRequest, now: int) -> None:
    await tx.run(
        "insert into session (project, id, agent, agent_type, key_id, task, role_description, working_directory,"
        " spawned_by, tmux_target, started_at, active_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11)",
        session.project,
        session.id,
        session.agent,
        session.agent_type,
        session.key_id,
        request.task,
        request.role,
        session.working_directory,
        request.spawned_by,
        request.tmux_target,
        now,
    )


async def upsert_agent_of_session(tx: Tx, project: str, agent: ResolvedAgent, task: str, now: int) -> None:
    """Insert the agent or count one more session of it. Its tier stays; an empty task keeps the old one."""
    await tx.run(
        "insert into agent (project, name, tier, role_description, path_patterns, status, current_task, last_task,"
        " session_count, last_seen_at, created_at) values ($1, $2, $3, $4, '[]', 'idle', $5, $5, 1, $6, $6)"
        " on conflict (project, name) do update set session_count = agent.session_count + 1,"
        " role_description = excluded.role_description, last_seen_at = excluded.last_seen_at,"
        " current_task = case when excluded.last_task = '' then agent.current_task else excluded.last_task end,"
        " last_task = case when excluded.last_task = '' then agent.last_task else excluded.last_task end",
        project,
        agent.name,
        agent.tier,
        agent.role,
        task,
        now,
    )


async def mark_session_ended(tx: Tx, session: AgentSession, now: int) -> bool:
    """End the session; return False if it had already ended."""
    ended = await tx.run(
        "update session set ended_at = $3, active_at = $3 where project = $1 and id = $2 and ended_at is null",
        session.project,
        session.id,
        now,
    )
    return bool(ended)


async def mark_agent_idle(tx: Tx, session: AgentSession, live_since: int, now: int) -> None:
    """Set the agent to idle when its last live session ends."""
    await tx.run(
        "update agent set status = 'idle', status_at = null, current_task = '', last_seen_at = $3 where project = $1 and name = $2"
        " and not exists (select 1 from session where session.project = $1 and session.agent = $2"
        " and session.ended_at is null and session.active_at > $4)",
        session.project,
        session.agent,
        now,
        live_since,
    )


async def delete_expired_sessions(tx: Tx, now: int) -> None:
    """Delete unused sessions, unread notices and workers that did not return."""
    projects = await list_all_project_names(tx)
    for rows, retention in (
        ("session where active_at < $2", 90 * DAY),
        ("notice where at < $2", 7 * DAY),
        ("agent where last_seen_at < $2 and tier = 'worker'", 30 * DAY),
    ):
        await tx.run(f"delete from {rows} and project = any($1)", projects, now - retention)
