"""Who reads and writes a blackboard, and which messages that reader may see.

Each message has one audience: everyone, one agent, one type of agents, or the admins. A reader has a list of
audiences; every query selects only messages of these audiences, and events carry the same audience strings.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from commonplace import access, errors
from commonplace.access import Caller
from commonplace.audience import private_owner, type_of_agent
from commonplace.call import Call
from commonplace.identity import acting
from commonplace.identity import session as agent_session

Visibility = Literal["public", "private", "agent_only", "admin_only"]
ALL_VISIBILITIES: tuple[Visibility, ...] = ("public", "private", "agent_only", "admin_only")

_MAX_NAME_CHARACTERS = 200
_AGENT_NAME = re.compile(rf"[\w.@:+-]{{1,{_MAX_NAME_CHARACTERS}}}")


def _require_agent_name(name: str) -> str:
    if not _AGENT_NAME.fullmatch(name):
        raise ValueError("must be an agent name: 1 to 200 letters, digits and . _ @ : + -")
    return name


AgentId = Annotated[
    str, AfterValidator(_require_agent_name), Field(json_schema_extra={"maxLength": _MAX_NAME_CHARACTERS})
]

_PUBLIC_AUDIENCE, _ADMIN_AUDIENCE = "", "admin"


@dataclass(frozen=True, slots=True)
class BlackboardReader:
    """`owner` identifies the agent where its name does not: a key that is bound to no agent may use any name.

    Without a known agent it is empty, and nothing private can be written or read.
    """

    name: str
    owner: str
    agent_type: str
    is_admin: bool

    @classmethod
    def from_caller(cls, caller: Caller, owner: str) -> "BlackboardReader":
        return cls(caller.agent or access.ANONYMOUS, owner, caller.agent_type, caller.has_role("admin"))

    def audience_for(self, visibility: Visibility) -> str:
        """Return the audience of a message by this reader; an agent without a type is alone in its type."""
        if not self._belongs_to(visibility):
            raise acting.no_identity()
        return {
            "public": _PUBLIC_AUDIENCE,
            "private": f"agent:{self.owner}",
            "agent_only": f"type:{type_of_agent(self.agent_type, self.owner)}",
            "admin_only": _ADMIN_AUDIENCE,
        }[visibility]

    def list_audiences(self, visibilities: Collection[Visibility] = ALL_VISIBILITIES) -> list[str]:
        """List the audiences of these visibilities that this reader belongs to."""
        return [
            self.audience_for(visibility)
            for visibility in visibilities
            if (self.is_admin if visibility == "admin_only" else self._belongs_to(visibility))
        ]

    def _belongs_to(self, visibility: Visibility) -> bool:
        if visibility == "private":
            return bool(self.owner)
        return visibility != "agent_only" or bool(self.owner or self.agent_type)


def visibility_of_audience(audience: str) -> Visibility:
    if audience == _PUBLIC_AUDIENCE:
        return "public"
    if audience == _ADMIN_AUDIENCE:
        return "admin_only"
    return "private" if audience.startswith("agent:") else "agent_only"


def select_visibilities(
    visibility_filter: Visibility | None, *, include_private: bool
) -> tuple[Visibility, ...]:
    if visibility_filter is not None:
        return (visibility_filter,)
    return ALL_VISIBILITIES if include_private else ("public", "agent_only", "admin_only")


async def identify_reader(
    call: Call, agent_id: str | None = None, sender: str | None = None, *, needs_agent: bool = False
) -> BlackboardReader:
    """Return the calling agent: of its session, of the key, or (auth off) as named; refuse another's name."""
    caller = call.caller
    for named in (agent_id, sender):
        if named and agent_session.is_session_id(named):
            call.session = await agent_session.load_session(call.tx, named, caller)
            agent_id, sender = None if agent_id == named else agent_id, None if sender == named else sender
    if call.session is not None:
        agent_type = caller.agent_type or call.session.agent_type
        caller = replace(caller, agent=call.session.agent, agent_type=agent_type)
    elif not call.settings.auth_on and (caller.agent is None or caller.operator):
        caller = replace(caller, agent=agent_id or sender or caller.agent)
    owner = private_owner(call.caller, caller.agent, auth_on=call.settings.auth_on) if caller.agent else ""
    reader = BlackboardReader.from_caller(caller, owner)
    if {agent_id or reader.name, sender or reader.name} != {reader.name}:
        raise errors.Forbidden(
            f"You are the agent '{reader.name}' and cannot act as another.",
            hint="Omit agent_id and sender, or pass your session_id from memory_start_session as agent_session.",
        )
    call.caller = caller
    if needs_agent:
        call.require_agent()
    return reader


def default_session_project(call: Call) -> str:
    """Return the project of a new session when none is named."""
    if call.session is not None:
        return call.session.project
    caller = call.caller
    if caller.sees_project(access.SHARED):
        return access.SHARED
    if len(caller.projects) == 1:
        return next(iter(caller.projects))
    raise errors.Invalid("This key has no default project.", hint="Pass project with one of its projects.")
