"""Events of this room."""

from commonplace.events import EventType
from commonplace.rooms.functions.resources import FUNCTIONS

FUNCTION_REGISTERED = EventType("FunctionRegistered", FUNCTIONS)
FUNCTION_ENRICHED = EventType("FunctionEnriched", FUNCTIONS)
FUNCTIONS_SYNCED = EventType("FunctionsSynced", FUNCTIONS)
