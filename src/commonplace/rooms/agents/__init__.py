"""Who works in a project, whether they are there, and what they do."""

from commonplace.rooms.agents.operations import get_agent_status, heartbeat, list_agents
from commonplace.rooms.agents.resources import AGENTS

TOOLSET = "work"
OPERATIONS = (heartbeat, get_agent_status, list_agents)
RESOURCES = (AGENTS,)
