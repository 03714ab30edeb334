"""Sessions of agents: who a session belongs to, and that it is alive.

A session id is a secret of its owner, so the store keeps only a digest. The id contains its project, and the project's
length in the last two hex digits, so that no query has to search across projects. Starting and ending sessions is
`rooms/sessions`.
"""

import re
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cache

import msgspec

from commonplace import background, errors
from commonplace.access import Caller
from commonplace.clock import HOUR, SECOND, Clock
from commonplace.masking.session_ids import hash_session_id
from commonplace.store.database import Database, Row, Statement, Tx

SESSION_LIVE_MICROSECONDS = 24 * HOUR
"""A session that was idle for longer counts as away; its next call brings it back."""

IS_AWAKE = (
    "(not exists (select 1 from session as newer where newer.project = session.project and newer.agent = session.agent"
    " and newer.started_at > session.active_at and newer.key_id = session.key_id and newer.spawned_by = ''"
    " and (newer.working_directory = session.working_directory or newer.working_directory = ''"
    "  or session.working_directory = ''))"
    " or exists (select 1 from checkout where checkout.project = session.project and checkout.session = session.id))"
)
"""Whether a `session` row is not dormant: superseded by a newer session of its agent and silent since then
(`dormant_sessions.py`)."""

_TOUCH_INTERVAL_MICROSECONDS = 5 * SECOND
_FLUSH_INTERVAL_SECONDS = 1.0
_LENGTH_DIGITS = 2
_SHOWN_DIGITS = 8

_SESSION_COLUMNS = (
    "select project, id, agent, agent_type, key_id, working_directory, ended_at,"
    " exists (select 1 from notice where notice.project = session.project and notice.session = session.id)"
    " as has_notice"
)

_SESSION_ID = re.compile(r".+_[0-9a-f]{34}")

ActivityAct = Callable[[Tx, "AgentSession", Sequence[Row], int, int], Awaitable[bool]]
"""Takes the rows of its probe, the time of the call and that of the store; returns whether it left notices."""


@dataclass(frozen=True)
class ActivityStep:
    """What follows from the activity of a session: `act` runs if `probe` finds rows.

    The probe has the session's project as `$1` and its digest as `$2`, so that it is asked together with the session.
    """

    probe: str
    act: ActivityAct


class AgentSession(msgspec.Struct, frozen=True):
    project: str
    id: str
    agent: str
    agent_type: str
    key_id: str
    working_directory: str
    has_notice: bool = False


def mint_session_id(project: str, agent: str) -> str:
    return f"{project}_{agent}_{secrets.token_hex(16)}{len(project):02x}"


def shorten_session(digest: str) -> str:
    """A name of a session for people, made of its digest: it tells sessions apart and opens none."""
    return f"ses_{digest[:_SHOWN_DIGITS]}"


def is_session_id(text: str) -> bool:
    """Does the text look like an id from memory_start_session?"""
    return _SESSION_ID.fullmatch(text) is not None


def project_from_session_id(session_id: str) -> str:
    try:
        length = int(session_id[-_LENGTH_DIGITS:], 16)
    except ValueError:
        length = 0
    if not 0 < length < len(session_id):
        raise _session_not_found()
    return session_id[:length]


class LoadedSession(msgspec.Struct, frozen=True):
    """A session, its row, the rows of the reads that were asked with it, and the store's time then (0 if nothing was)."""

    session: AgentSession
    row: Row
    rows: Sequence[Sequence[Row]] = ()
    store_now: int = 0


SessionReads = Callable[[str, str], Sequence[Statement]]
"""What to ask together with a session, from its project and its digest."""


def no_reads(project: str, session: str) -> Sequence[Statement]:
    del project, session
    return ()


class SessionQuery(msgspec.Struct, frozen=True):
    """What else to read with a session: columns of its row, which may be subqueries, and other statements."""

    columns: str = ""
    reads: SessionReads = no_reads


ONLY_SESSION = SessionQuery()


@cache
def _format_select(columns: str, clock_columns: str) -> str:
    listed = ", ".join(part for part in (_SESSION_COLUMNS, columns, clock_columns) if part)
    return f"{listed} from session where project = $1 and id = $2"


async def load_session(tx: Tx, session_id: str, caller: Caller) -> AgentSession:
    """The session, if this caller may act for it; a session of somebody else is answered like an unknown one."""
    return (await load_session_with(tx, session_id, caller, ONLY_SESSION)).session


async def load_session_with(tx: Tx, session_id: str, caller: Caller, query: SessionQuery) -> LoadedSession:
    project, digest = project_from_session_id(session_id), hash_session_id(session_id)
    # Two statements: with both ids in one, SQLite plans it anew for every call (99 microseconds against 9).
    loaded = await _load_row(tx, project, digest, query)
    if loaded is None:
        key = await tx.one(
            "select session from session_key where project = $1 and id = $2",
            project,
            digest,
        )
        loaded = await _load_row(tx, project, key["session"], query) if key else None
    if loaded is None or not _can_act_for(caller, loaded.row):
        raise _session_not_found()
    if loaded.row["ended_at"] is not None:
        raise errors.SessionNotFound(
            "This session has ended.", hint="Call memory_start_session to start another."
        )
    return loaded


async def find_session(
    tx: Tx, project: str, session: str, caller: Caller, query: SessionQuery = ONLY_SESSION
) -> LoadedSession | None:
    """The session of this digest, if it has not ended and this caller may act for it."""
    loaded = await _load_row(tx, project, session, query)
    if loaded is None or loaded.row["ended_at"] is not None or not _can_act_for(caller, loaded.row):
        return None
    return loaded


async def _load_row(tx: Tx, project: str, session: str, query: SessionQuery) -> LoadedSession | None:
    """The session of any caller. The time is a part of its row where the store can tell it so, else a row of its own."""
    asked = query.reads(project, session)
    if not asked and not query.columns:
        row = await tx.one(_format_select("", ""), project, session)
        return LoadedSession(session_from_row(row), row) if row else None
    clock_columns = tx.ask_clock()
    own: Statement = (_format_select(query.columns, clock_columns), project, session)
    if clock_columns and not asked:
        row = await tx.one(*own)
        return LoadedSession(session_from_row(row), row, (), tx.clock_from_row(row)) if row else None
    first, *others = await tx.together(own, *asked, *(() if clock_columns else (tx.clock_statement(),)))
    if not first:
        return None
    rows, clock_row = (others, first[0]) if clock_columns else (others[:-1], others[-1][0])
    return LoadedSession(session_from_row(first[0]), first[0], rows, tx.clock_from_row(clock_row))


def _can_act_for(caller: Caller, row: Row) -> bool:
    """A session belongs to its key, and a key that is bound to an agent acts only for that agent."""
    if not caller.sees_project(row["project"]) or (caller.key and row["key_id"] != caller.key):
        return False
    return not caller.key or caller.agent is None or caller.operator or caller.agent == row["agent"]


def session_from_row(row: Row) -> AgentSession:
    return AgentSession(
        row["project"],
        row["id"],
        row["agent"],
        row["agent_type"],
        row["key_id"],
        row["working_directory"],
        bool(row["has_notice"]),
    )


def _session_not_found() -> errors.SessionNotFound:
    return errors.SessionNotFound(hint="Call memory_start_session and pass the session_id that it returns.")


async def list_live_sessions_of_agents(
    tx: Tx, project: str, agents: Sequence[str], now: int
) -> Sequence[Row]:
    return await tx.all(
        "select id, agent from session where project = $1 and agent = any($2) and ended_at is null and active_at > $3"
        f" and {IS_AWAKE}",
        project,
        list(agents),
        now - SESSION_LIVE_MICROSECONDS,
    )


async def list_live_sessions(tx: Tx, project: str, now: int, but: str = "") -> Sequence[Row]:
    """List id and agent of the sessions of a project that are alive, the latest first, without one of them."""
    return await tx.all(
        "select id, agent from session where project = $1 and id <> $2 and ended_at is null and active_at > $3"
        f" and {IS_AWAKE} order by active_at desc limit 500",
        project,
        but,
        now - SESSION_LIVE_MICROSECONDS,
    )


class ActivityRecorder:
    """Marks sessions as alive: at once in a call that writes, within a second after one that reads."""

    def __init__(self, database: Database, clock: Clock, steps: Sequence[ActivityStep]) -> None:
        self._database, self._clock, self._steps = database, clock, steps
        self._touched: dict[str, int] = {}
        self._pending: dict[str, AgentSession] = {}
        self._flushing: background.BackgroundWork | None = None

    def open(self) -> None:
        self._flushing = background.every(
            _FLUSH_INTERVAL_SECONDS, self.flush_pending, name="activity", essential=True
        )

    async def close(self) -> None:
        await background.stop(self._flushing, finish=self.flush_pending)

    def list_probes(self, project: str, session: str) -> list[Statement]:
        return [(step.probe, project, session) for step in self._steps]

    def is_touch_due(self, session: str, now: int) -> bool:
        """Is it time to mark the session of this digest as alive? A clock that was set back is no reason to wait."""
        return not 0 <= now - self._touched.get(session, 0) < _TOUCH_INTERVAL_MICROSECONDS

    async def touch_session(
        self,
        tx: Tx,
        session: AgentSession,
        now: int,
        probed: Sequence[Sequence[Row]] = (),
        store_now: int = 0,
    ) -> bool:
        """Mark the session as alive, with what follows from it; return whether it may have left a notice.

        `probed` are the rows of `list_probes`, which were read at `store_now`; without them they are read now.
        """
        if not probed:
            probes = self.list_probes(session.project, session.id)
            *probed, clock = await tx.together(*probes, tx.clock_statement())
            store_now = tx.clock_from_row(clock[0])
        await tx.queue(
            "update session set active_at = $3 where project = $1 and id = $2 and active_at < $3",
            session.project,
            session.id,
            now,
        )
        acts = [
            await step.act(tx, session, rows, now, store_now)
            for step, rows in zip(self._steps, probed, strict=True)
            if rows
        ]
        return any(acts)

    def mark_touched(self, session: AgentSession, now: int) -> None:
        """Remember that the touch was committed; the next one is due after the interval."""
        if len(self._touched) > 50_000:  # noqa: PLR2004 - only a bound on memory
            self._touched.clear()
        self._touched[session.id] = now

    def touch_later(self, session: AgentSession) -> None:
        self._pending[session.id] = session

    async def flush_pending(self) -> None:
        pending, self._pending = list(self._pending.values()), {}
        if not pending:
            return
        now = self._clock()

        async def touch_all(tx: Tx) -> None:
            for session in pending:
                await self.touch_session(tx, session, now)

        try:
            await self._database.write(touch_all)
        except errors.Unavailable:
            self._pending = {session.id: session for session in pending} | self._pending
            raise
        for session in pending:
            self.mark_touched(session, now)
