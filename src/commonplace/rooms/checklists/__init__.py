"""Lists of steps that a team ticks off together."""

from commonplace.rooms.checklists.operations import checklist

TOOLSET = "work"
OPERATIONS = (checklist,)
