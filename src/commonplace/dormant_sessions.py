"""Sessions of an agent that was closed without memory_end_session and started again.

An earlier session of the same agent, key and working directory that made no call since a newer one started is dormant:
what it holds counts as the newer session's own. Nothing is stored about it: its next call makes it live again. Sessions
with hooks are never dormant, because hooks report the end of a window. `activity.IS_AWAKE` is the same rule for lists.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from commonplace.activity import SESSION_LIVE_MICROSECONDS, AgentSession, session_from_row
from commonplace.clock import DAY, SECOND
from commonplace.store.database import Row, Tx

TAKEOVER_SILENCE = 10 * SECOND
"""How long a session must be silent before its holdings are taken over: `activity.py` records a call up to 6 s late."""

_MAX_SESSION_AGE = 7 * DAY

RESTARTED_AT = (
    "case when session.spawned_by = '' and exists (select 1 from session as earlier"
    " where earlier.project = session.project and earlier.agent = session.agent"
    f" and earlier.started_at > session.started_at - {_MAX_SESSION_AGE}"
    " and earlier.started_at < session.started_at and earlier.key_id = session.key_id and earlier.ended_at is null"
    " and earlier.active_at < session.started_at"
    f" and earlier.active_at > session.started_at - {SESSION_LIVE_MICROSECONDS}"
    " and (earlier.working_directory = session.working_directory or earlier.working_directory = ''"
    "  or session.working_directory = '')"
    " and not exists (select 1 from checkout where checkout.project = earlier.project"
    "  and checkout.session = earlier.id)) then session.started_at end"
)
"""When a `session` row that continues an earlier one started; null if it continues none. The index on agent and start
finds the earlier one, so it must not have started long before."""


@dataclass(frozen=True, slots=True)
class SupersededSession:
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
        " join session on session.project = $1 and session.agent = own.agent and session.key_id = own.key_id"
        " and session.id <> own.id and session.ended_at is null and session.active_at > $3"
        " and session.active_at < own.started_at and (session.working_directory = own.working_directory"
        "  or session.working_directory = '' or own.working_directory = '')"
        " where own.project = $1 and own.id = $2 and own.spawned_by = ''"
        " and not exists (select 1 from checkout where checkout.project = $1 and checkout.session = session.id)"
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


def is_continued_by(row: Row, session: AgentSession, now: int) -> bool:
    """Does the session that starts now continue this one? `row` tells with `has_hooks` whether hooks report its end."""
    directories = {row["working_directory"], session.working_directory} - {""}
    return (
        (row["agent"], row["key_id"]) == (session.agent, session.key_id)
        and len(directories) <= 1
        and not row["has_hooks"]
        and row["active_at"] <= now - TAKEOVER_SILENCE
    )
