"""Who a starting session is: the name it asked for, after its key and the project's roster had their say."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import msgspec

from commonplace import errors
from commonplace.access import Caller
from commonplace.rooms.agents.model import AgentTier
from commonplace.rooms.sessions.model import UNKNOWN
from commonplace.store.database import Row

_WORKER_TRIES = 8


@dataclass(frozen=True, slots=True)
class Given:
    """What the starting session said of itself."""

    agent: str
    task: str
    role: str
    working_directory: str
    spawned_by: str
    tmux_target: str


@dataclass(frozen=True, slots=True)
class Arrival:
    """What became of it. `known` = it was on the roster before."""

    agent: str
    tier: AgentTier
    role: str
    previous_start: int | None = None
    known: bool = False

    @property
    def pending(self) -> bool:
        return self.tier == "pending"

    @property
    def named(self) -> bool:
        return self.agent != UNKNOWN


def asked_name(caller: Caller, asked: str) -> str:
    """A key that is bound to an agent speaks for that agent alone."""
    if caller.agent is None or caller.operator or asked == caller.agent:
        return asked
    if asked != UNKNOWN:
        raise errors.Forbidden(
            f"This key speaks for '{caller.agent}', not for '{asked}'.",
            hint=f"Start as '{caller.agent}', or use the key of '{asked}'.",
        )
    return caller.agent


def worker_names() -> list[str]:
    return [f"worker_{secrets.token_hex(2)}" for _ in range(_WORKER_TRIES)]


def arrive(
    name: str,
    given: Given,
    caller: Caller,
    roster: Mapping[str, Row],
    workers: list[str],
    *,
    registered: bool,
) -> Arrival:
    """A spawned agent that nobody knows becomes a worker; one that is known keeps its name."""
    known = roster.get(name)
    if known is not None and not (given.spawned_by and name == UNKNOWN):
        role = _role(known["role_description"], given.role, registered=registered)
        return Arrival(name, known["tier"], role, known["previous_start"], known=True)
    if given.spawned_by and not _bound(caller):
        vouched = not registered or _vouches(roster.get(given.spawned_by))
        return Arrival(_free(workers, roster), "worker" if vouched else "pending", given.role)
    return Arrival(name, "pending" if registered else "named", given.role)


def _role(known: str, given: str, *, registered: bool) -> str:
    """On a roster the admins' words stand; elsewhere an agent describes itself."""
    return known if known and (registered or not given) else given


def _bound(caller: Caller) -> bool:
    return caller.agent is not None and not caller.operator


def _vouches(spawner: Row | None) -> bool:
    return spawner is not None and spawner["tier"] != "pending"


def _free(workers: list[str], roster: Mapping[str, Row]) -> str:
    free = next((name for name in workers if name not in roster), None)
    if free is None:
        raise errors.Unavailable("No name for another worker was free.", hint="Try again.")
    return free


@dataclass(frozen=True, slots=True)
class Suggestion:
    agent: str
    pattern: str
    role: str


def suggested(registered: Sequence[Row], working_directory: str) -> Suggestion | None:
    """The agent whose path pattern fits the directory; the longest pattern is the most exact."""
    place = working_directory.replace("\\", "/").rstrip("/") + "/"
    fits = [
        Suggestion(row["name"], pattern, row["role_description"])
        for row in registered
        for pattern in msgspec.json.decode(row["path_patterns"], type=list[str])
        if _covers(pattern, place)
    ]
    return max(fits, key=lambda fit: (len(fit.pattern), fit.agent), default=None)


def _covers(pattern: str, place: str) -> bool:
    """A pattern that begins nowhere may begin anywhere; what it names covers all that lies inside it."""
    glob = pattern.replace("\\", "/").rstrip("/*") + "/*"
    return fnmatchcase(place, glob) or (not glob.startswith("/") and fnmatchcase(place, "*/" + glob))
