"""The agents of a project: roster, heartbeats, status and current task."""

from commonplace.room import Room
from commonplace.rooms.agents.events import AGENT_CHANGED
from commonplace.rooms.agents.operations import get_agent_status, heartbeat, list_agents
from commonplace.rooms.agents.resources import AGENTS

ROOM = Room(
    name="agents",
    purpose=__doc__,
    toolset="work",
    operations=(heartbeat, get_agent_status, list_agents),
    resources=(AGENTS,),
    events=(AGENT_CHANGED,),
)
