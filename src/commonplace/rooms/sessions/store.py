"""SQL for sessions and the agent rows that a session start or end changes. Activity of calls: `activity.py`."""

from collections.abc import Mapping, Sequence

from commonplace.access import ANONYMOUS
from commonplace.identity.liveness import is_live, is_superseded
from commonplace.identity.session import AgentSession, session_from_row
from commonplace.masking.session_ids import digest_from_session_id
from commonplace.quoting import IMPORTER
from commonplace.rooms.sessions.model import ResolvedAgent, SessionRequest
from commonplace.store.database import Row, Tx

_MAX_LIVE_SESSIONS = 50
_MAX_PATTERN_AGENTS = 500
_MAX_OUTSIDERS = 200
_SELECT_OPEN_SESSION = (
    "select project, id, agent, agent_type, key_id, working_directory, 0 as has_notice from session"
    " where project = $1 and ended_at is null"
)


async def load_agents_by_name(
    tx: Tx, project: str, names: Sequence[str], now: int, current_session: str = ""
) -> Mapping[str, Row]:
    """Load roster rows; `previous_start` is of the last session before the current one."""
    rows = await tx.all(
        "select name, tier, role_description, key_id,"
        " exists (select 1 from api_key where api_key.id = agent.key_id and api_key.revoked_at is null"
        "  and (api_key.expires_at is null or api_key.expires_at > $4)) as key_is_live,"
        " (select max(started_at) from session where session.project = $1 and session.agent = agent.name"
        "  and session.id <> $3)"
        " as previous_start from agent where project = $1 and name = any($2)",
        project,
        names,
        current_session,
        now,
    )
    return {row["name"]: row for row in rows}


async def list_live_sessions(
    tx: Tx, project: str, agent: str, since: int, current_session: str = ""
) -> Sequence[Row]:
    """List live sessions of agents on the roster, this agent's own first, then the most recently active.

    Those of this agent may be dormant.

    Each row tells with `project_has_waits` whether any work of the project is blocked, which saves a round trip.
    """
    return await tx.all(
        "select session.id, session.agent, session.task, session.active_at,"
        " agent.status, agent.status_at,"
        " agent.current_task, exists (select 1 from work where work.project = $1 and work.status = 'blocked')"
        " as project_has_waits from session join agent on agent.project = $1 and agent.name = session.agent"
        " where session.project = $1 and session.ended_at is null and session.active_at > $2 and session.id <> $5"
        f" and (session.agent = $3 or not {is_superseded()})"
        " order by case when session.agent = $3 then 0 else 1 end, session.active_at desc, session.id limit $4",
        project,
        since,
        agent,
        _MAX_LIVE_SESSIONS,
        current_session,
    )


async def list_busy_names(tx: Tx, project: str, since: int) -> set[str]:
    """List the agents that have a live session which was active after `since`."""
    rows = await tx.all(
        "select distinct agent from session where project = $1 and ended_at is null and active_at > $2",
        project,
        since,
    )
    return {row["agent"] for row in rows}


async def is_name_busy(tx: Tx, project: str, name: str, since: int) -> bool:
    row = await tx.one(
        f"select 1 as yes from session where project = $1 and agent = $2 and {is_live('$3')} limit 1",
        project,
        name,
        since,
    )
    return row is not None


async def has_other_busy_session(
    tx: Tx, session: AgentSession, projects: Sequence[str], since: int, key: str | None = None
) -> bool:
    """Was another session of the same name (and key) active in one of these projects since then?"""
    row = await tx.one(
        "select 1 as yes from session where project = any($1) and agent = $2 and ended_at is null"
        " and active_at > $3 and id <> $4 and (cast($5 as text) is null or key_id = $5) limit 1",
        list(projects),
        session.agent,
        since,
        session.id,
        key,
    )
    return row is not None


async def list_open_session_ids(tx: Tx, session: AgentSession) -> list[str]:
    """List the sessions of the same agent and key that have not ended, idle or not."""
    rows = await tx.all(
        "select id from session where project = $1 and agent = $2 and key_id = $3 and ended_at is null",
        session.project,
        session.agent,
        session.key_id,
    )
    return [row["id"] for row in rows]


async def list_sessions_of_name(tx: Tx, project: str, name: str) -> list[str]:
    rows = await tx.all("select id from session where project = $1 and agent = $2", project, name)
    return [row["id"] for row in rows]


async def list_sessions_of_agent(
    tx: Tx, project: str, agent: str, key: str, since: int
) -> list[AgentSession]:
    """List the open sessions of an agent and key that were active since then, the latest first."""
    rows = await tx.all(
        f"{_SELECT_OPEN_SESSION} and agent = $2 and key_id = $3 and active_at > $4"
        " order by active_at desc, id limit $5",
        *(project, agent, key, since, _MAX_LIVE_SESSIONS),
    )
    return [session_from_row(row) for row in rows]


async def list_subagent_sessions(
    tx: Tx, project: str, parents: Sequence[str], idle_since: int
) -> list[AgentSession]:
    """List the open sessions that these started and that have not called since then."""
    rows = await tx.all(
        f"{_SELECT_OPEN_SESSION} and parent <> '' and parent = any($2) and active_at <= $3"
        " order by started_at, id limit $4",
        *(project, list(parents), idle_since, _MAX_LIVE_SESSIONS),
    )
    return [session_from_row(row) for row in rows]


async def list_abandoned_sessions(
    tx: Tx, session: AgentSession, seat: str, idle_since: int
) -> list[AgentSession]:
    """List open sessions of the same agent, key and seat that have not called since then."""
    rows = await tx.all(
        f"{_SELECT_OPEN_SESSION} and agent = $2 and key_id = $3 and seat = $4 and active_at <= $5 and id <> $6"
        " order by active_at, id limit $7",
        *(session.project, session.agent, session.key_id, seat, idle_since, session.id, _MAX_LIVE_SESSIONS),
    )
    return [session_from_row(row) for row in rows]


async def is_registered_agent(tx: Tx, project: str, name: str) -> bool:
    """Did an admin put the agent onto the roster of a registered project?"""
    row = await tx.one(
        "select 1 as yes from agent join project on project.name = $1 where agent.project = $1 and agent.name = $2"
        " and project.registered = 1 and agent.tier in ('admin', 'named')",
        project,
        name,
    )
    return row is not None


async def list_seat_names(tx: Tx, project: str, seat: str) -> list[str]:
    rows = await tx.all("select name from seat_name where project = $1 and seat = $2", project, seat)
    return [row["name"] for row in rows]


async def list_taken_names(tx: Tx, project: str, tool: str) -> set[str]:
    """List the tool's names, with and without a number, that an agent or a seat of the project has."""
    rows = await tx.all(
        "select name from agent where project = $1 and (name = $2 or substr(name, 1, length($3)) = $3)"
        " union select name from seat_name where project = $1 and (name = $2 or substr(name, 1, length($3)) = $3)",
        project,
        tool,
        f"{tool}-",
    )
    return {row["name"] for row in rows}


async def remember_seat_name(tx: Tx, project: str, seat: str, name: str, now: int) -> None:
    await tx.queue(
        "insert into seat_name (project, seat, name, at) values ($1, $2, $3, $4)"
        " on conflict (project, seat, name) do update set at = excluded.at",
        project,
        seat,
        name,
        now,
    )


async def load_task(tx: Tx, session: AgentSession) -> str:
    row = await tx.one("select task from session where project = $1 and id = $2", session.project, session.id)
    return row["task"] if row else ""


async def load_start(tx: Tx, session: AgentSession) -> Row:
    """When the session started, and with which task."""
    row = await tx.one(
        "select task, started_at from session where project = $1 and id = $2", session.project, session.id
    )
    return row or {"task": "", "started_at": 0}


async def load_spawner(tx: Tx, session: AgentSession) -> str:
    row = await tx.one(
        "select spawned_by from session where project = $1 and id = $2", session.project, session.id
    )
    return row["spawned_by"] if row else ""


async def load_seat_of_session(tx: Tx, session: AgentSession) -> str:
    row = await tx.one("select seat from session where project = $1 and id = $2", session.project, session.id)
    return row["seat"] if row else ""


async def list_agents_with_path_patterns(tx: Tx, project: str) -> Sequence[Row]:
    return await tx.all(
        "select name, role_description, path_patterns from agent"
        " where project = $1 and path_patterns <> '[]' and tier <> 'pending' order by name limit $2",
        project,
        _MAX_PATTERN_AGENTS,
    )


async def insert_session(tx: Tx, session: AgentSession, request: SessionRequest, now: int) -> None:
    await tx.queue(
        "insert into session (project, id, agent, agent_type, key_id, task, role_description, working_directory,"
        " spawned_by, tmux_target, started_at, active_at, seat, branch, parent)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11, $12, $13, $14)",
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
        request.seat,
        request.branch,
        request.parent,
    )


async def continue_session(tx: Tx, session: AgentSession, request: SessionRequest, now: int) -> None:
    """Update a session that was started again in its window; what the new start leaves out stays."""
    await tx.queue(
        "update session set active_at = $3, task = case when $4 = '' then task else $4 end,"
        " working_directory = case when working_directory = '' then $5 else working_directory end,"
        " branch = case when $6 = '' then branch else $6 end where project = $1 and id = $2",
        session.project,
        session.id,
        now,
        request.task,
        request.working_directory,
        request.branch,
    )


async def find_session_digest(tx: Tx, project: str, session_id: str) -> str:
    """The digest of the session with this id or further id, masked or not, live or ended; empty if there is none."""
    digest = digest_from_session_id(session_id)
    row = await tx.one("select id from session where project = $1 and id = $2", project, digest)
    if row is None:
        row = await tx.one(
            "select session as id from session_key where project = $1 and id = $2", project, digest
        )
    return row["id"] if row else ""


async def insert_session_key(tx: Tx, session: AgentSession, secret_digest: str, now: int) -> None:
    """Give a session a further id."""
    await tx.queue(
        "insert into session_key (project, id, session, at) values ($1, $2, $3, $4)",
        session.project,
        secret_digest,
        session.id,
        now,
    )


async def end_reader_sessions(tx: Tx, project: str, name: str, key: str, now: int) -> None:
    """End sessions of readonly keys that used a name before it came onto the roster."""
    await tx.queue(
        "update session set ended_at = $4 where project = $1 and agent = $2 and key_id <> $3 and ended_at is null",
        project,
        name,
        key,
        now,
    )


async def upsert_agent_of_session(
    tx: Tx, project: str, agent: ResolvedAgent, key: str, task: str, now: int
) -> None:
    """Insert the agent or count one more session of it. Its tier stays; an empty task keeps the old one."""
    await tx.queue(
        "insert into agent (project, name, tier, role_description, path_patterns, status, current_task, last_task,"
        " session_count, last_seen_at, created_at, key_id)"
        " values ($1, $2, $3, $4, '[]', 'idle', $5, $5, 1, $6, $6, $7)"
        " on conflict (project, name) do update set session_count = agent.session_count + 1,"
        " role_description = excluded.role_description, key_id = excluded.key_id, last_seen_at = excluded.last_seen_at,"
        " current_task = case when excluded.last_task = '' then agent.current_task else excluded.last_task end,"
        " last_task = case when excluded.last_task = '' then agent.last_task else excluded.last_task end",
        project,
        agent.name,
        agent.tier,
        agent.role,
        task,
        now,
        key,
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


async def mark_agent_idle(tx: Tx, session: AgentSession, live_since: int, now: int) -> bool:
    """Set the agent to idle when its last live session ends; return whether this was the last."""
    idle = await tx.one(
        "update agent set status = 'idle', status_at = null, current_task = '', last_seen_at = $3 where project = $1 and name = $2"
        " and not exists (select 1 from session where session.project = $1 and session.agent = $2"
        f" and {is_live('$4')}) returning name",
        session.project,
        session.agent,
        now,
        live_since,
    )
    return idle is not None or not await is_name_busy(tx, session.project, session.agent, live_since)


async def list_outsiders(tx: Tx, project: str) -> set[str]:
    """Names of authors whose texts a boot pack marks: nobody, imports, and agents that no admin has admitted."""
    rows = await tx.all(
        "select name from agent where project = $1 and tier = 'pending' order by name limit $2",
        project,
        _MAX_OUTSIDERS,
    )
    return {ANONYMOUS, IMPORTER, *(row["name"] for row in rows)}


async def list_ended_sessions(tx: Tx, session: AgentSession) -> list[str]:
    """The ended sessions of its agent that have notices that nobody read."""
    rows = await tx.all(
        "select distinct notice.session from notice join session on session.project = $1"
        " and session.id = notice.session where notice.project = $1 and session.agent = $2 and session.id <> $3"
        " and session.ended_at is not null",
        session.project,
        session.agent,
        session.id,
    )
    return [row["session"] for row in rows]
