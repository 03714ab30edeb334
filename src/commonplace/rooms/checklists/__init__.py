"""Lists of steps that a team checks off together."""

from commonplace.agent_names import declare_agent_columns
from commonplace.room import Room
from commonplace.rooms.checklists.boot import TASK_CHECKLISTS_SECTION
from commonplace.rooms.checklists.events import CHECKLIST_CHANGED
from commonplace.rooms.checklists.finders import FINDERS
from commonplace.rooms.checklists.operations import checklist
from commonplace.rooms.checklists.resources import CHECKLIST
from commonplace.rooms.checklists.search import SEARCH_SOURCE

ROOM = Room(
    name="checklists",
    purpose=__doc__,
    toolset="work",
    operations=(checklist,),
    boot_sections=(TASK_CHECKLISTS_SECTION,),
    resources=(CHECKLIST,),
    finders=FINDERS,
    search_sources=(SEARCH_SOURCE,),
    events=(CHECKLIST_CHANGED,),
    agent_columns=declare_agent_columns(
        never=("checklist.created_by", "checklist_item.added_by", "checklist_item.checked_by"),
    ),
)
