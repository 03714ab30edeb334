"""Sessions begin with what the agent needs to know and end with what the next one needs."""

from commonplace.rooms.sessions.operations import end_session, start_session
from commonplace.rooms.sessions.store import forget_old
from commonplace.rooms.sessions.told import SECTIONS

TOOLSET = "work"
OPERATIONS = (start_session, end_session)
BOOT_SECTIONS = SECTIONS
SWEEPS = (forget_old,)
