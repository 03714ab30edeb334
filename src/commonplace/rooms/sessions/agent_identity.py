"""Decides which agent a starting session is, from the requested name, the key and the project's roster.

It reads no store: `operations.py` loads the rows. Who makes a call at all is decided in `edges/identity.py`.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import msgspec

from commonplace import errors
from commonplace.access import Caller
from commonplace.rooms.agents.model import AgentTier
from commonplace.rooms.sessions.model import UNKNOWN_AGENT
from commonplace.store.database import Row

_WORKER_NAME_CANDIDATES = 8


@dataclass(frozen=True, slots=True)
class SessionRequest:
    """The arguments of memory_start_session that describe the session."""

    agent: str
    task: str
    role: str
    working_directory: str
    spawned_by: str
    tmux_target: str
    seat: str = ""
    branch: str = ""
    parent: str = ""
    """The session whose sub-agent this is."""

    @property
    def gives_name(self) -> bool:
        return self.agent != UNKNOWN_AGENT


@dataclass(frozen=True, slots=True)
class ResolvedAgent:
    """The agent that the session belongs to. `is_known`: it was on the roster before."""

    name: str
    tier: AgentTier
    role: str
    previous_start: int | None = None
    is_known: bool = False
    refused_name: str = ""
    """The name that was asked for and belongs to another agent."""

    @property
    def is_pending(self) -> bool:
        return self.tier == "pending"


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
