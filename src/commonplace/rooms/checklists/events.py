"""Events of this room."""

from commonplace.events import EventType
from commonplace.rooms.checklists.resources import CHECKLIST

CHECKLIST_CHANGED = EventType("ChecklistChanged", CHECKLIST)
