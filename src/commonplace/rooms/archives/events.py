"""Events of this room; an archive belongs to its workspace."""

from commonplace.events import EventType
from commonplace.rooms.workspaces.resources import WORKSPACE

SESSION_ARCHIVED = EventType("SessionArchived", WORKSPACE)
