"""Events of this room."""

from commonplace.events import EventType
from commonplace.rooms.projects.resources import PROJECT

PROJECT_CREATED = EventType("ProjectCreated", PROJECT)
PROJECT_DELETED = EventType("ProjectDeleted", PROJECT)
