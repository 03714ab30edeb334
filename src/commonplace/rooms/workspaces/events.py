"""Events of this room."""

from commonplace.events import EventType
from commonplace.rooms.workspaces.resources import FILE, WORKSPACE

KNOWLEDGE_WRITTEN = EventType("KnowledgeWritten", FILE)
KNOWLEDGE_DELETED = EventType("KnowledgeDeleted", FILE)
OVERVIEW_WRITTEN = EventType("OverviewWritten", WORKSPACE)
WORKSPACE_REGISTERED = EventType("WorkspaceRegistered", WORKSPACE)
