"""The agents of a project: roster, heartbeats, status and current task."""

from commonplace.agent_names import declare_agent_columns
from commonplace.room import Room
from commonplace.rooms.agents.contributes import AGENT_CHANGED, AGENTS, rename_roster_entry
from commonplace.rooms.agents.operations import get_agent_status, heartbeat, list_agents

ROOM = Room(
    name="agents",
    purpose=__doc__,
    toolset="work",
    operations=(heartbeat, get_agent_status, list_agents),
    resources=(AGENTS,),
    events=(AGENT_CHANGED,),
    agent_columns=declare_agent_columns(
        room=("agent.name",),
    ),
    on_rename=(rename_roster_entry,),
)
