"""The private key-value memory of an agent, as a whole or for one blackboard."""

from commonplace.agent_names import declare_agent_columns
from commonplace.room import Room
from commonplace.rooms.agent_memory import contributes
from commonplace.rooms.agent_memory.operations import delete_memory, get_memory, list_memory, set_memory

ROOM = Room(
    name="agent_memory",
    purpose=__doc__,
    toolset="context",
    operations=(set_memory, get_memory, list_memory, delete_memory),
    retention=(contributes.EXPIRED_MEMORY,),
    agent_columns=declare_agent_columns(
        room=("context_memory.agent", "context_memory_usage.agent"),
    ),
    on_rename=(contributes.move_memory,),
)
