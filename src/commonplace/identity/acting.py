"""Who acts in a call: the session of its arguments, of a header or of a window; else the key's agent; else nobody.

`call.py` asks here for every operation, so the rule is the same at every edge. The edges only collect what a request
says (`edges/identity.py`); sessions are started in `rooms/sessions`, which binds windows with `bind_windows`.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from commonplace import access, errors
from commonplace.access import Caller
from commonplace.clock import DAY, iso
from commonplace.identity import session as agent_session
from commonplace.identity.session import AgentSession, LoadedSession, SessionQuery
from commonplace.store.database import Tx
from commonplace.window import WindowKind, kind_of_window

START_HINT = (
    "Call memory_start_session(project=..., claude_instance=<your name>) first."
    " If your client opens a new connection for each call, also pass its session_id (as agent_session where"
    " session_id means something else)."
)
_BINDING_LIFETIME = 90 * DAY
_FOREVER = 2**63


@dataclass(frozen=True, slots=True)
class WindowBinding:
    """A window of the request, and the live session that it belongs to."""

    window: str
    loaded: LoadedSession
    at: int

    @property
    def session(self) -> AgentSession:
        return self.loaded.session

    @property
    def kind(self) -> WindowKind:
        return kind_of_window(self.window)


async def find_acting_session(
    tx: Tx, caller: Caller, named_session_id: str | None, query: SessionQuery = agent_session.ONLY_SESSION
) -> LoadedSession | None:
    """The session that acts. One that the call names must exist; a header that names an ended one is ignored."""
    if named_session_id is not None:
        return await agent_session.load_session_with(tx, named_session_id, caller, query)
    if caller.session:
        try:
            return await agent_session.load_session_with(tx, caller.session, caller, query)
        except errors.SessionNotFound:
            return None
    bindings = await list_window_bindings(tx, caller, query)
    return bindings[0].loaded if bindings else None


async def list_window_bindings(
    tx: Tx, caller: Caller, query: SessionQuery = agent_session.ONLY_SESSION
) -> Sequence[WindowBinding]:
    """The windows of the request that have a live session, the most specific first.

    Among connections the latest binding counts: one program may open several, and start another session on one.
    """
    if not caller.windows:
        return []
    window_by_id = {_window_id(caller, window): window for window in caller.windows}
    rows = await tx.all(
        "select id, session_project, session, at from agent_window where project = $1 and id = any($2)",
        access.SHARED,
        list(window_by_id),
    )
    binding_by_window: dict[str, WindowBinding] = {}
    for row in rows:
        loaded = await agent_session.find_session(tx, row["session_project"], row["session"], caller, query)
        if loaded is not None:
            window = window_by_id[row["id"]]
            binding_by_window[window] = WindowBinding(window, loaded, row["at"])
    bindings = [binding_by_window[window] for window in caller.windows if window in binding_by_window]
    return sorted(bindings, key=lambda binding: -binding.at if binding.kind == "connection" else -_FOREVER)


async def bind_windows(
    tx: Tx, caller: Caller, windows: Sequence[str], session: AgentSession, now: int
) -> None:
    """Make this the session of these windows, whatever they were bound to."""
    await tx.many(
        "insert into agent_window (project, id, kind, session_project, session, at) values ($1, $2, $3, $4, $5, $6)"
        " on conflict (project, id) do update set session_project = excluded.session_project,"
        " session = excluded.session, at = excluded.at",
        [
            (
                access.SHARED,
                _window_id(caller, window),
                kind_of_window(window),
                session.project,
                session.id,
                now,
            )
            for window in windows
        ],
    )


async def has_conversation(tx: Tx, session: AgentSession) -> bool:
    """Is the session bound to a conversation, and not only to the connection that it was started on?"""
    row = await tx.one(
        "select 1 as yes from agent_window where project = $1 and session = $2 and kind = 'conversation' limit 1",
        access.SHARED,
        session.id,
    )
    return row is not None


async def has_other_connection(tx: Tx, caller: Caller, session: AgentSession) -> bool:
    """Is the session bound to a connection that this request did not come on?"""
    row = await tx.one(
        "select 1 as yes from agent_window where project = $1 and session = $2 and kind = 'connection'"
        " and not (id = any($3)) limit 1",
        access.SHARED,
        session.id,
        [_window_id(caller, window) for window in caller.windows],
    )
    return row is not None


def no_session() -> errors.SessionNotFound:
    return errors.SessionNotFound("This call has no session.", hint=START_HINT)


async def no_live_session(tx: Tx, caller: Caller) -> errors.SessionNotFound:
    """Say so if the last session of the caller's windows has ended: then it only has to start another one."""
    row = await tx.one(
        "select bound.session_project, bound.session from agent_window as bound"
        " where bound.project = $1 and bound.id = any($2) order by bound.at desc limit 1",
        access.SHARED,
        [_window_id(caller, window) for window in caller.windows],
    )
    ended = row and await tx.one(
        "select ended_at from session where project = $1 and id = $2", row["session_project"], row["session"]
    )
    if not ended or ended["ended_at"] is None:
        return no_session()
    return errors.SessionNotFound(f"Your session ended at {iso(ended['ended_at'])}.", hint=START_HINT)


def no_identity() -> errors.Forbidden:
    return errors.Forbidden("This is private, and it is not known which agent you are.", hint=START_HINT)


async def only_project(tx: Tx, caller: Caller) -> str:
    """The project that a header names, else the project of a key that has one."""
    if caller.project:
        project = access.normalize_project_name(caller.project)
        access.require_project(caller, project, writes=True)
        return project
    if len(caller.projects) == 1 and access.ALL_PROJECTS not in caller.projects:
        return next(iter(caller.projects))
    raise await no_live_session(tx, caller)


def _window_id(caller: Caller, window: str) -> str:
    """A window belongs to its key: under another key the same text is another window."""
    return hashlib.sha256(f"{caller.key}\0{window}".encode()).hexdigest()[:32]
