"""Events of this room."""

from commonplace.events import EventType
from commonplace.rooms.blackboard.resources import SESSION

SESSION_CREATED = EventType("SessionCreated", SESSION)
SESSION_CLOSED = EventType("SessionClosed", SESSION)
MESSAGE_ADDED = EventType("MessageAdded", SESSION)
