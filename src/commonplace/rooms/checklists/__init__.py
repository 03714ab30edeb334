"""Lists of steps that a team ticks off together."""

from commonplace.room import Room
from commonplace.rooms.checklists.operations import checklist

ROOM = Room(
    name="checklists",
    purpose=__doc__,
    toolset="work",
    operations=(checklist,),
)
