"""Which session a start in a window continues, and which windows it binds.

A hook and its model start the same session, in either order. Another conversation on the same connection, and a
sub-agent, start their own. Which session acts in any other call: `acting.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from commonplace.call import Call
from commonplace.identity import acting
from commonplace.identity.acting import WindowBinding
from commonplace.identity.session import AgentSession
from commonplace.rooms.sessions import store
from commonplace.rooms.sessions.model import UNKNOWN_AGENT
from commonplace.window import kind_of_window


@dataclass(frozen=True, slots=True)
class WindowPlan:
    """`continued`: the live session to return. `parent`: that of the agent whose sub-agent this is. `windows`: to bind."""

    windows: tuple[str, ...]
    continued: AgentSession | None = None
    parent: AgentSession | None = None


async def plan_windows(call: Call, project: str, spawned_by: str, name: str) -> WindowPlan:
    bindings = await acting.list_window_bindings(call.tx, call.caller)
    windows, candidate = call.caller.windows, await _find_candidate(call, bindings)
    if candidate is not None and spawned_by and not await _is_child(call, candidate, spawned_by):
        parent = candidate if candidate.agent == spawned_by else None
        return WindowPlan(_free_windows(windows, bindings), parent=parent)
    if candidate is not None and await _is_other_client(call, candidate, bindings):
        return WindowPlan(_free_windows(windows, bindings))
    parent = _find_parent(windows, bindings)
    if candidate is not None and await _is_other_agent(call, candidate, name):
        return WindowPlan(windows)
    if candidate is not None and candidate.project == project:
        return WindowPlan(_free_windows(windows, bindings) if parent else windows, candidate)
    if candidate is None and parent:
        return WindowPlan(_free_windows(windows, bindings), parent=parent)
    return WindowPlan(windows)


async def _find_candidate(call: Call, bindings: Sequence[WindowBinding]) -> AgentSession | None:
    """The session that was named, that of this conversation or call, or that of a connection without another one."""
    if call.session is not None and call.session.id not in {binding.session.id for binding in bindings}:
        return call.session
    own = _own_conversation(call.caller.windows)
    for binding in bindings:
        if binding.kind == "call" or binding.window == own:
            return binding.session
        if binding.kind == "connection" and not (
            own and await acting.has_conversation(call.tx, binding.session)
        ):
            return binding.session if not _find_parent(call.caller.windows, bindings) else None
    return None


async def _is_other_client(call: Call, candidate: AgentSession, bindings: Sequence[WindowBinding]) -> bool:
    """Did one program open several connections, and start the candidate on another one than this?

    A session that a hook started has a conversation: a program that connects again continues it.
    """
    if _own_conversation(call.caller.windows) or any(binding.kind != "connection" for binding in bindings):
        return False
    if candidate.id not in {binding.session.id for binding in bindings}:
        return False
    free = _free_windows(call.caller.windows, bindings)
    if not any(kind_of_window(window) == "connection" for window in free):
        return False
    has_conversation = await acting.has_conversation(call.tx, candidate)
    return not has_conversation and await acting.has_other_connection(call.tx, call.caller, candidate)


async def _is_other_agent(call: Call, candidate: AgentSession, name: str) -> bool:
    """Does a connection without conversations ask for a second agent, after one whose name was given, too?

    A default name may be changed; a given one belongs to the agent that has it, and its session goes on beside the new one.
    """
    if name in (UNKNOWN_AGENT, candidate.agent) or _own_conversation(call.caller.windows):
        return False
    if call.session is None or call.caller.session or await acting.has_conversation(call.tx, candidate):
        return False
    seat = await store.load_seat_of_session(call.tx, candidate)
    return candidate.agent not in await store.list_seat_names(call.tx, candidate.project, seat)


def _own_conversation(windows: tuple[str, ...]) -> str:
    return next((window for window in windows if kind_of_window(window) == "conversation"), "")


def _find_parent(windows: tuple[str, ...], bindings: Sequence[WindowBinding]) -> AgentSession | None:
    """The session of a conversation around this one: Codex names its root beside each sub-agent's own."""
    own = _own_conversation(windows)
    around = [binding for binding in bindings if binding.kind == "conversation" and binding.window != own]
    return around[0].session if around else None


def _free_windows(windows: tuple[str, ...], bindings: Sequence[WindowBinding]) -> tuple[str, ...]:
    """A sub-agent does not take over its parent's windows."""
    bound = {binding.window for binding in bindings}
    return tuple(window for window in windows if window not in bound)


async def _is_child(call: Call, session: AgentSession, spawned_by: str) -> bool:
    return await store.load_spawner(call.tx, session) == spawned_by
