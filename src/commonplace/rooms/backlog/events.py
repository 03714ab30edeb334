"""Events of this room."""

from commonplace.events import EventType
from commonplace.rooms.backlog.resources import BACKLOG

BACKLOG_CHANGED = EventType("BacklogChanged", BACKLOG)
