"""Sessions of agents: their ids, and which caller a session belongs to.

A session id is a secret of its owner, so the store keeps only a digest. The id contains its project, and the project's
length in the last two hex digits, so that no query has to search across projects. Starting and ending sessions is
`rooms/sessions`; which session is alive: `liveness.py`.
"""

import re
import secrets
from collections.abc import Callable, Sequence
from functools import cache

import msgspec

from commonplace import errors
from commonplace.access import Caller
from commonplace.masking.session_ids import hash_session_id
from commonplace.store.database import Row, Statement, Tx

_LENGTH_DIGITS = 2
_SHOWN_DIGITS = 8

_SESSION_COLUMNS = (
    "select project, id, agent, agent_type, key_id, working_directory, ended_at,"
    " exists (select 1 from notice where notice.project = $1 and notice.session = session.id)"
    " as has_notice"
)

_SESSION_ID = re.compile(r".+_[0-9a-f]{34}")


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
