"""Who reads and writes a blackboard, and which messages that one may see.

Each message has one audience: everyone, one agent, one type of agents, or the admins. A reader has a list of
audiences, every read asks for messages of these audiences alone, and the events carry the same words.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from pydantic import AfterValidator

from commonplace import access, activity, errors
from commonplace.access import Caller
from commonplace.call import Call

Visibility = Literal["public", "private", "agent_only", "admin_only"]
EVERYTHING: tuple[Visibility, ...] = ("public", "private", "agent_only", "admin_only")

_NAME = re.compile(r"[\w.@:+-]{1,200}")


def _name(given: str) -> str:
    if not _NAME.fullmatch(given):
        raise ValueError("is not an agent's name")
    return given


AgentId = Annotated[str, AfterValidator(_name)]

_PUBLIC, _ADMINS = "", "admin"
_HANDLE = re.compile(r".+_[0-9a-f]{34}")


@dataclass(frozen=True, slots=True)
class Reader:
    """`owner` tells agents apart where a name alone does not: keys without an agent may call themselves anything."""

    name: str
    owner: str
    agent_type: str
    admin: bool

    @classmethod
    def of(cls, caller: Caller, *, auth_on: bool, bound: bool = True) -> "Reader":
        """`bound`: the key itself says which agent this is."""
        name = caller.agent or "unknown"
        owner = name if not auth_on or (bound and caller.agent) else f"{name}/{caller.key}"
        return cls(name, owner, caller.agent_type, caller.includes("admin"))

    def audience(self, visibility: Visibility) -> str:
        """Whom a message of this reader is for; an agent without a type is the only one of its kind."""
        return {
            "public": _PUBLIC,
            "private": f"agent:{self.owner}",
            "agent_only": f"type:{self.agent_type or '/' + self.owner}",
            "admin_only": _ADMINS,
        }[visibility]

    def audiences(self, wanted: Collection[Visibility] = EVERYTHING) -> list[str]:
        """Every audience that this reader belongs to, of the wanted kinds."""
        return [self.audience(each) for each in wanted if each != "admin_only" or self.admin]


def visibility_of(audience: str) -> Visibility:
    if audience == _PUBLIC:
        return "public"
    if audience == _ADMINS:
        return "admin_only"
    return "private" if audience.startswith("agent:") else "agent_only"


def wanted(only: Visibility | None, *, include_private: bool) -> tuple[Visibility, ...]:
    if only is not None:
        return (only,)
    return EVERYTHING if include_private else ("public", "agent_only", "admin_only")


async def identify(call: Call, agent_id: str | None = None, sender: str | None = None) -> Reader:
    """Who calls: the key's agent, its session's, or (keys off) whoever it says; a name of another is refused."""
    caller, bound = call.caller, call.caller.agent is not None
    if agent_id and _HANDLE.fullmatch(agent_id):
        call.session = await activity.load(call.tx, agent_id, caller)
        kind = caller.agent_type or call.session.agent_type
        caller, agent_id = replace(caller, agent=call.session.agent, agent_type=kind), None
    elif not call.settings.auth_on and (caller.agent is None or caller.operator):
        caller = replace(caller, agent=agent_id or sender or caller.agent)
    reader = Reader.of(caller, auth_on=call.settings.auth_on, bound=bound)
    if {agent_id or reader.name, sender or reader.name} != {reader.name}:
        raise errors.Forbidden(
            f"This caller is the agent '{reader.name}' and cannot act as another.",
            hint="Leave agent_id and sender out; a key without an agent gives its memory_start_session id as agent_id.",
        )
    call.caller = caller
    return reader


def default_project(caller: Caller) -> str:
    """Where a session begins when no project is named."""
    if caller.sees(access.SHARED):
        return access.SHARED
    if len(caller.projects) == 1:
        return next(iter(caller.projects))
    raise errors.Invalid("This key sees several projects.", hint="Say which one: project='...'.")


def home(caller: Caller) -> str:
    """The project that keeps an agent's memory: always the same one for the same key."""
    if caller.sees(access.SHARED):
        return access.SHARED
    if not caller.projects:
        raise errors.Forbidden("This key sees no project.", hint="Ask an owner to widen its scope.")
    return min(caller.projects)
