"""Rules that every session reads at its start: global ones, then those of the project."""

from commonplace.room import Room
from commonplace.rooms.guidelines.boot import GUIDELINES_SECTION
from commonplace.rooms.guidelines.operations import guidelines

ROOM = Room(
    name="guidelines",
    purpose=__doc__,
    toolset="admin",
    operations=(guidelines,),
    boot_sections=(GUIDELINES_SECTION,),
)
