"""Who may see what is not for everyone: the audiences of events and of blackboard messages, and who belongs to them.

An audience is a text: empty for everyone who may read the project, `agent:OWNER`, `type:TYPE`, `inbox:AGENT`, `admin` or
`owner`. Which session acts is decided in `acting.py`; events carry their audience (`events.py`).
"""

from dataclasses import dataclass

from commonplace.access import Caller
from commonplace.call import Call
from commonplace.project import is_project_admin


@dataclass(frozen=True, slots=True)
class EventReader:
    """Who reads the events of one project. `agent` and `owner` are empty where nobody is known."""

    caller: Caller
    agent: str
    owner: str
    agent_type: str
    reads_every_inbox: bool

    def can_see_audience(self, audience: str) -> bool:
        kind, _, name = audience.partition(":")
        if kind == "agent":
            return bool(self.owner) and name == self.owner
        if kind == "type":
            return bool(name) and name == type_of_agent(self.agent_type, self.owner)
        if kind == "inbox":
            return self.reads_every_inbox or (bool(name) and name == self.agent)
        return kind == "" or self.caller.has_role("owner" if kind == "owner" else "admin")


async def load_event_reader(call: Call) -> EventReader:
    """The reader of a call's project: the agent of the session that acts, else of the key."""
    caller, session = call.caller, call.session
    agent = "" if call.is_anonymous else call.agent
    return EventReader(
        caller,
        agent,
        private_owner(caller, agent, auth_on=call.settings.auth_on) if agent else "",
        caller.agent_type or (session.agent_type if session else ""),
        await _reads_every_inbox(call, agent),
    )


def private_owner(caller: Caller, agent: str, *, auth_on: bool) -> str:
    """What is private to the agent is stored under this name: with the key, where the key may use any name."""
    return agent if not auth_on or caller.agent is not None else f"{agent}/{caller.key}"


def type_of_agent(agent_type: str, owner: str) -> str:
    """An agent without a type is alone in its type."""
    return agent_type or (f"/{owner}" if owner else "")


async def _reads_every_inbox(call: Call, agent: str) -> bool:
    """Admins do. A program without an agent has the rights of its role, unless it named a session that is not live."""
    if agent:
        return await is_project_admin(call.tx, call.project, call.caller, agent)
    return call.caller.has_role("admin") and not call.caller.session
