"""Events of this room."""

from commonplace.events import EventType
from commonplace.rooms.work.resources import SIGNALS, WORK

WORK_UPDATED = EventType("WorkUpdated", WORK)
WORK_UNBLOCKED = EventType("WorkUnblocked", WORK)
SIGNAL_SENT = EventType("SignalSent", SIGNALS)
