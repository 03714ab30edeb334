"""Decides which agent a starting session is, which session a start in a window continues, and how an agent is renamed.

A hook and its model start the same session, in either order; another conversation on the same connection, and a
sub-agent, start their own. The name of an agent that gives none is its seat's: a seat is a key, a tool on a machine, and a
working directory. Who makes a call at all is decided in `edges/identity.py`, which session acts in any other call in
`identity/acting.py`; what the rooms store under a name, and how it follows, in `agent_names.py`."""

import hashlib
import re
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from itertools import count
from typing import Any

import msgspec

from commonplace import errors
from commonplace.access import Caller
from commonplace.agent_names import AgentRename, move_agent_columns
from commonplace.audience import private_owner
from commonplace.call import Call
from commonplace.identity import acting
from commonplace.identity.acting import WindowBinding
from commonplace.identity.liveness import NAME_BUSY_MICROSECONDS
from commonplace.identity.names import (
    find_agent_spelling,
    is_owned_by_other_key,
    is_taken,
    load_name_owners,
    require_unreserved,
)
from commonplace.identity.session import AgentSession
from commonplace.project import ensure_project, list_all_project_names
from commonplace.rooms.admin import store as keys
from commonplace.rooms.agents.contributes import AGENT_CHANGED
from commonplace.rooms.sessions import store
from commonplace.rooms.sessions.model import UNKNOWN_AGENT, ResolvedAgent, SessionRequest
from commonplace.store.counters import lock_project
from commonplace.store.database import Row, Work
from commonplace.store.shared_reads import run_together
from commonplace.window import kind_of_window

_DEFAULT_TOOL = "agent"
_MAX_TOOL_CHARACTERS = 40
_NOT_IN_NAMES = re.compile(r"[^\w.+-]+")

_WORKER_NAME_CANDIDATES = 8


def resolve_requested_name(caller: Caller, requested: str) -> str:
    """Return the requested name; a key that is bound to an agent may only start sessions of that agent."""
    if caller.agent is None or caller.operator or requested == caller.agent:
        return requested
    if requested != UNKNOWN_AGENT:
        raise errors.Forbidden(
            f"This key is bound to the agent '{caller.agent}', not '{requested}'.",
            hint=f"Set claude_instance='{caller.agent}', or use the key of '{requested}'.",
        )
    return caller.agent


def generate_worker_names() -> list[str]:
    return [f"worker_{secrets.token_hex(2)}" for _ in range(_WORKER_NAME_CANDIDATES)]


def resolve_agent(
    name: str,
    request: SessionRequest,
    caller: Caller,
    roster: Mapping[str, Row],
    worker_names: list[str],
    *,
    project_is_registered: bool,
) -> ResolvedAgent:
    """Resolve the agent. A spawned agent that is not on the roster becomes a worker with a generated name."""
    roster_row = roster.get(name)
    if roster_row is not None and not (request.spawned_by and name == UNKNOWN_AGENT):
        role = _choose_role(
            roster_row["role_description"], request.role, project_is_registered=project_is_registered
        )
        return ResolvedAgent(name, roster_row["tier"], role, roster_row["previous_start"], is_known=True)
    if request.spawned_by and not _is_bound_key(caller):
        has_trusted_spawner = not project_is_registered or _is_trusted_spawner(roster.get(request.spawned_by))
        return ResolvedAgent(
            _first_free_name(worker_names, roster),
            "worker" if has_trusted_spawner else "pending",
            request.role,
        )
    return ResolvedAgent(name, "pending" if project_is_registered else "named", request.role)


def _choose_role(roster_role: str, requested_role: str, *, project_is_registered: bool) -> str:
    """In a registered project the roster's description wins; elsewhere the agent's own."""
    return roster_role if roster_role and (project_is_registered or not requested_role) else requested_role


def _is_bound_key(caller: Caller) -> bool:
    return caller.agent is not None and not caller.operator


def _is_trusted_spawner(spawner: Row | None) -> bool:
    return spawner is not None and spawner["tier"] != "pending"


def _first_free_name(candidates: list[str], roster: Mapping[str, Row]) -> str:
    free_name = next((name for name in candidates if name not in roster), None)
    if free_name is None:
        raise errors.Unavailable("No free worker name was found.", hint="Call memory_start_session again.")
    return free_name


@dataclass(frozen=True, slots=True)
class IdentitySuggestion:
    agent: str
    pattern: str
    role: str


def suggest_identity(agents: Sequence[Row], working_directory: str) -> IdentitySuggestion | None:
    """Suggest the agent whose path pattern covers the directory; the longest pattern wins."""
    directory = working_directory.replace("\\", "/").rstrip("/") + "/"
    suggestions = [
        IdentitySuggestion(row["name"], pattern, row["role_description"])
        for row in agents
        for pattern in msgspec.json.decode(row["path_patterns"], type=list[str])
        if _pattern_covers(pattern, directory)
    ]
    return max(suggestions, key=lambda suggestion: (len(suggestion.pattern), suggestion.agent), default=None)


def _pattern_covers(pattern: str, directory: str) -> bool:
    """Does the pattern name the directory or one above it? A relative pattern matches at any depth."""
    glob = pattern.replace("\\", "/").rstrip("/*") + "/*"
    return fnmatchcase(directory, glob) or (not glob.startswith("/") and fnmatchcase(directory, "*/" + glob))


def seat_id(caller: Caller, working_directory: str) -> str:
    directory = working_directory.replace("\\", "/").rstrip("/")
    return hashlib.sha256(f"{caller.key}\0{caller.seat}\0{directory}".encode()).hexdigest()[:32]


async def pick_seat_name(call: Call, project: str, working_directory: str) -> str:
    """The seat's lowest name that no other window uses now, or a new one."""
    await lock_project(call.tx, project, "seat")
    seat, tool = seat_id(call.caller, working_directory), _tool_name(call.caller)
    busy = await store.list_busy_names(call.tx, project, call.now - NAME_BUSY_MICROSECONDS)
    reserved = await keys.list_bound_names(call.tx, project, call.caller.key, call.now)
    own_names = sorted(await store.list_seat_names(call.tx, project, seat), key=_name_order)
    for name in own_names:
        if name not in busy and name not in reserved:
            return name
    taken = busy | reserved | await store.list_taken_names(call.tx, project, tool)
    return _lowest_free_name(tool, taken)


def _tool_name(caller: Caller) -> str:
    tool = _NOT_IN_NAMES.sub("-", caller.seat.partition("@")[0].lower()).strip("-.+")
    return tool[:_MAX_TOOL_CHARACTERS] or _DEFAULT_TOOL


def _lowest_free_name(tool: str, taken: Collection[str]) -> str:
    return next(name for name in (tool if n == 1 else f"{tool}-{n}" for n in count(1)) if name not in taken)


def _name_order(name: str) -> tuple[int, str]:
    """`claude` before `claude-2` before `claude-10`."""
    number = name.rpartition("-")[2]
    return (int(number) if number.isdecimal() else 1, name)


async def resolve_starting_agent(
    call: Call, request: SessionRequest, continued: AgentSession | None
) -> ResolvedAgent:
    """The agent of a new session, or of one that is continued, perhaps under another name."""
    name = resolve_requested_name(call.caller, request.agent)
    firsts: list[Work[Any]] = [lambda tx: ensure_project(tx, call.project, call.now)]
    if name != UNKNOWN_AGENT:
        firsts.append(partial(find_agent_spelling, project=call.project, name=name))
    project_is_registered, *spelled = await run_together(call.tx, firsts)
    name = spelled[0] if spelled else name
    refused_name = ""
    if continued is not None and name != continued.agent:
        is_free = request.gives_name and await _is_free_name(call, name, continued)
        name, refused_name = (name, "") if is_free else (continued.agent, name if request.gives_name else "")
    elif continued is None:
        name = await _choose_new_name(call, name, request)
    worker_names = generate_worker_names() if request.spawned_by and not continued else []
    names = [name, request.spawned_by, *worker_names]
    works: list[Work[Any]] = [
        lambda tx: store.load_agents_by_name(
            tx, call.project, names, call.now, continued.id if continued else ""
        ),
    ]
    (roster,) = await run_together(call.tx, works)
    agent = resolve_agent(
        name,
        request if continued is None else replace(request, spawned_by=""),
        call.caller,
        roster,
        worker_names,
        project_is_registered=project_is_registered,
    )
    return replace(agent, refused_name=refused_name)


async def _choose_new_name(call: Call, name: str, request: SessionRequest) -> str:
    """The given name if this key may use it, else the seat's. Workers get their name from `py`."""
    if name != UNKNOWN_AGENT:
        await _require_usable_name(call, name)
        return name
    if request.spawned_by:
        return name
    if not call.caller.has_role("agent"):
        return f"reader-{secrets.token_hex(2)}"
    return await pick_seat_name(call, call.project, request.working_directory)


async def _require_usable_name(call: Call, name: str) -> None:
    if call.caller.principal.kind != "person":
        require_unreserved(name)
    if await _belongs_to_other_key(call, name):
        raise errors.Forbidden(
            f"The name '{name}' belongs to another key.",
            hint="Leave claude_instance out, choose another name, or use the key that is bound to it.",
        )
    if not call.caller.has_role("agent") and await store.load_agents_by_name(
        call.tx, call.project, [name], call.now
    ):
        raise errors.Forbidden(
            f"A readonly key cannot act as the known agent '{name}'.",
            hint="Leave claude_instance out, or choose a name that no agent of the project has.",
        )


async def _is_free_name(call: Call, name: str, session: AgentSession) -> bool:
    """May the agent of this session take the name? Not if a key owns it or another window works under it."""
    if await _belongs_to_other_key(call, name):
        return False
    if not call.caller.has_role("agent"):
        return not await store.load_agents_by_name(call.tx, call.project, [name], call.now)
    since = call.now - NAME_BUSY_MICROSECONDS
    return not await store.is_name_busy(call.tx, session.project, name, since)


async def _belongs_to_other_key(call: Call, name: str) -> bool:
    owners = await load_name_owners(call.tx, call.project, call.now)
    if is_taken(owners, name, call.caller):
        return True
    row = (await store.load_agents_by_name(call.tx, call.project, [name], call.now)).get(name)
    if row is None or not is_owned_by_other_key(row, call.caller):
        return False
    if not row["key_is_live"]:
        await set_agent_aside(call, name, row["key_id"])
    return bool(row["key_is_live"])


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


async def rename_agent(
    call: Call, session: AgentSession, agent: ResolvedAgent, request: SessionRequest
) -> None:
    """The whole agent gets the name, unless another window works under the old one or the roster registers it."""
    rename = await _plan_rename(call, session, agent.name)
    await move_agent_columns(call.tx, rename, call.catalogue.agent_columns)
    for move in call.catalogue.on_rename:
        await move(call.tx, rename)
    if not call.caller.has_role("agent"):
        return
    if not rename.moves_agent:
        await store.upsert_agent_of_session(
            call.tx, session.project, agent, session.key_id, request.task, call.now
        )
        await _add_seat_name(call, session, agent.name)
    call.emit(AGENT_CHANGED, agent=agent.name, status="renamed", task=request.task)


async def set_agent_aside(call: Call, name: str, key: str) -> None:
    """Free the name of an agent whose key is gone: what is stored under it stays with that key's agent."""
    rename = AgentRename(
        caller=call.caller,
        project=call.project,
        sessions=tuple(await store.list_sessions_of_name(call.tx, call.project, name)),
        old=name,
        new=f"{name[: 63 - len(key)]}:{key}",
        old_owner=f"{name}/{key}",
        new_owner=f"{name}/{key}",
        moves_agent=True,
        moves_private=False,
        now=call.now,
    )
    await move_agent_columns(call.tx, rename, call.catalogue.agent_columns)
    for move in call.catalogue.on_rename:
        await move(call.tx, rename)


async def _add_seat_name(call: Call, session: AgentSession, name: str) -> None:
    """The seat of the session, not of this request: only hooks know it, and mostly the model chooses the name."""
    seat = await store.load_seat_of_session(call.tx, session)
    if session.agent in await store.list_seat_names(call.tx, session.project, seat):
        await store.remember_seat_name(call.tx, session.project, seat, name, call.now)


async def _plan_rename(call: Call, session: AgentSession, name: str) -> AgentRename:
    tx, project, old, since = call.tx, session.project, session.agent, call.now - NAME_BUSY_MICROSECONDS
    moves_agent = (
        call.caller.has_role("agent")
        and not await store.has_other_busy_session(tx, session, [project], since)
        and not await store.is_registered_agent(tx, project, old)
    )
    elsewhere = [other for other in await list_all_project_names(tx) if other != project]
    is_used_elsewhere = await store.has_other_busy_session(tx, session, elsewhere, since, session.key_id)
    idle = await store.list_open_session_ids(tx, session) if moves_agent else []
    auth_on = call.settings.auth_on
    return AgentRename(
        caller=call.caller,
        project=project,
        sessions=tuple(dict.fromkeys([session.id, *idle])),
        old=old,
        new=name,
        old_owner=private_owner(call.caller, old, auth_on=auth_on),
        new_owner=private_owner(call.caller, name, auth_on=auth_on),
        moves_agent=moves_agent,
        moves_private=moves_agent and not is_used_elsewhere,
        now=call.now,
    )
