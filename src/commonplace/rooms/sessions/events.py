"""Events of this room."""

from commonplace.events import EventType
from commonplace.rooms.agents.resources import AGENTS

SESSION_STARTED = EventType("SessionStarted", AGENTS)
SESSION_ENDED = EventType("SessionEnded", AGENTS)
