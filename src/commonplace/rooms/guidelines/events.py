"""Events of this room."""

from commonplace.events import EventType
from commonplace.rooms.guidelines.resources import GUIDELINES

GUIDELINE_CHANGED = EventType("GuidelineChanged", GUIDELINES)
