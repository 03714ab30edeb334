"""Which sessions are alive. Every list, notice and decision asks here.

A session is alive if it has not ended, called within a day and is not superseded. It is superseded while another session
of its agent, key and directory that has not ended started after its last call: then the agent was probably closed and
started again, and what the session holds counts as the newer one's own. Nothing is stored about it: its next call, or
the end of the newer one, makes it live again. Sessions with hooks are never superseded, because hooks report the end of
a window.
"""

from collections.abc import Sequence

import msgspec

from commonplace.clock import DAY, HOUR, MINUTE, SECOND, format_age, iso
from commonplace.identity.session import AgentSession, session_from_row
from commonplace.store.database import Row, Tx

SESSION_LIVE_MICROSECONDS = 24 * HOUR
"""A session that was idle for longer counts as away; its next call brings it back."""

NAME_BUSY_MICROSECONDS = HOUR
"""A window that was idle for longer may have been closed without an end: its name is given again."""

TAKEOVER_SILENCE = 10 * SECOND
"""How long a session must be silent before its holdings are taken over: `activity.py` records a call up to 6 s late."""

_MAX_SESSION_AGE = 7 * DAY
_SILENT_AFTER = MINUTE


def _supersedes(newer: str, older: str) -> str:
    """SQL: does the session `newer` continue `older`? Both are rows of the same project."""
    return (
        f"{newer}.agent = {older}.agent and {newer}.key_id = {older}.key_id and {newer}.spawned_by = ''"
        f" and {newer}.ended_at is null and {newer}.started_at > {older}.active_at"
        f" and ({newer}.working_directory = {older}.working_directory or {newer}.working_directory = ''"
        f"  or {older}.working_directory = '')"
    )


def _has_hooks(session: str, project: str) -> str:
    return f"exists (select 1 from checkout where checkout.project = {project} and checkout.session = {session}.id)"


def is_live(since: str, project: str = "$1") -> str:
    """SQL: is a row of `session` alive, having called after the parameter `since`?

    `project` is the parameter that names the project, or `session.project` where a sweep reads several.
    """
    return f"session.ended_at is null and session.active_at > {since} and not {is_superseded(project)}"


def is_superseded(project: str = "$1") -> str:
    """SQL: did a newer session take the place of a row of `session`?"""
    return (
        f"(exists (select 1 from session as newer where newer.project = {project}"
        f" and {_supersedes('newer', 'session')}) and not {_has_hooks('session', project)})"
    )


RESTARTED_AT = (
    "case when exists (select 1 from session as earlier where earlier.project = $1"
    f" and {_supersedes('session', 'earlier')} and earlier.ended_at is null"
    f" and earlier.started_at > session.started_at - {_MAX_SESSION_AGE} and earlier.started_at < session.started_at"
    f" and earlier.active_at > session.started_at - {SESSION_LIVE_MICROSECONDS}"
    f" and not {_has_hooks('earlier', '$1')}) then session.started_at end"
)
"""SQL: when a row of `session` that continues an earlier one started; null if it continues none. The index on agent and
start finds the earlier one, so it must not have started long before."""


class SupersededSession(msgspec.Struct, frozen=True):
    """An earlier session that made no call since the newer one started."""

    session: AgentSession
    active_at: int

    def is_dormant(self, now: int) -> bool:
        return self.active_at <= now - TAKEOVER_SILENCE


async def list_superseded_sessions(tx: Tx, session: AgentSession, now: int) -> list[SupersededSession]:
    """The earlier sessions that this one continues, the last active first; none for a sub-agent."""
    rows = await tx.all(
        "select session.project, session.id, session.agent, session.agent_type, session.key_id,"
        " session.working_directory, session.active_at, 0 as has_notice from session as own"
        " join session on session.project = $1 and session.id <> own.id and session.ended_at is null"
        f" and session.active_at > $3 and {_supersedes('own', 'session')}"
        f" where own.project = $1 and own.id = $2 and not {_has_hooks('session', '$1')}"
        " order by session.active_at desc, session.id limit 50",
        session.project,
        session.id,
        now - SESSION_LIVE_MICROSECONDS,
    )
    return [SupersededSession(session_from_row(row), row["active_at"]) for row in rows]


async def list_dormant_sessions(tx: Tx, session: AgentSession, now: int) -> list[AgentSession]:
    """The earlier sessions whose holdings this one may take over."""
    superseded = await list_superseded_sessions(tx, session, now)
    return [earlier.session for earlier in superseded if earlier.is_dormant(now)]


async def lock_dormant_sessions(tx: Tx, project: str, sessions: Sequence[str], now: int) -> bool:
    """Row-lock these sessions; return False if one made a call meanwhile."""
    if not sessions:
        return True
    silent = await tx.run(
        "update session set active_at = active_at where project = $1 and id = any($2) and active_at <= $3",
        project,
        list(sessions),
        now - TAKEOVER_SILENCE,
    )
    return silent == len(sessions)


async def list_live_sessions(
    tx: Tx, project: str, now: int, *, agents: Sequence[str] | None = None, but: str = ""
) -> Sequence[Row]:
    """List id, agent and last call of the live sessions of a project or of some agents, the latest first."""
    of_agents = "" if agents is None else " and agent = any($4)"
    return await tx.all(
        f"select id, agent, active_at from session where project = $1 and id <> $2 and {is_live('$3')}{of_agents}"
        " order by active_at desc limit 500",
        *(project, but, now - SESSION_LIVE_MICROSECONDS),
        *(() if agents is None else (list(agents),)),
    )


def format_silence(active_at: int | None, now: int) -> str:
    """How long a live agent has made no call, such as `3min`; empty if it called within the last minute."""
    return format_age(active_at, now) if active_at is not None and now - active_at > _SILENT_AFTER else ""


class AgentPresence(msgspec.Struct, frozen=True):
    """`last_active_at` is its last call, or the end of its last session; None if it never had one."""

    agent: str
    is_live: bool
    last_active_at: int | None

    def is_silent(self, now: int) -> bool:
        return self.is_live and bool(format_silence(self.last_active_at, now))

    def describe(self, now: int) -> str:
        if self.last_active_at is None:
            return f"{self.agent} has had no session"
        if self.is_silent(now):
            return f"{self.agent} has been silent for {format_silence(self.last_active_at, now)}"
        if self.is_live:
            return f"{self.agent} is live (last call: {format_age(self.last_active_at, now)})"
        return f"{self.agent} is offline since {iso(self.last_active_at)}"


async def load_presence(tx: Tx, project: str, agent: str, now: int) -> AgentPresence:
    row = await tx.one(
        f"select max(case when {is_live('$3')} then active_at end) as live_at,"
        " max(coalesce(ended_at, active_at)) as last_at from session where project = $1 and agent = $2",
        project,
        agent,
        now - SESSION_LIVE_MICROSECONDS,
    )
    live_at, last_at = (row["live_at"], row["last_at"]) if row else (None, None)
    return AgentPresence(agent, live_at is not None, live_at if live_at is not None else last_at)
