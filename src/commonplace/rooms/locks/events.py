"""Events of this room."""

from commonplace.events import EventType
from commonplace.rooms.locks.resources import LOCKS

FILES_LOCKED = EventType("FilesLocked", LOCKS)
FILES_RELEASED = EventType("FilesReleased", LOCKS)
LEASE_TAKEN_OVER = EventType("LeaseTakenOver", LOCKS)
