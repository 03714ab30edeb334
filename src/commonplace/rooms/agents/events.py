"""Events of this room."""

from commonplace.events import EventType
from commonplace.rooms.agents.resources import AGENTS

AGENT_CHANGED = EventType("AgentChanged", AGENTS)
