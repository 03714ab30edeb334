"""What one agent remembers for itself: values by key, for all its work or for one blackboard."""

from commonplace.rooms.agent_memory.operations import (
    delete_memory,
    get_memory,
    list_memory,
    set_memory,
)
from commonplace.rooms.agent_memory.sweep import forget_expired

TOOLSET = "context"
OPERATIONS = (set_memory, get_memory, list_memory, delete_memory)
SWEEPS = (forget_expired,)
