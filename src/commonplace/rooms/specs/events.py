"""Events of this room."""

from commonplace.events import EventType
from commonplace.rooms.specs.resources import SPEC

SPEC_CHANGED = EventType("SpecChanged", SPEC)
