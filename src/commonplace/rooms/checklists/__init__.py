"""Lists of steps that a team checks off together."""

from commonplace.agent_names import declare_agent_columns
from commonplace.room import Room
from commonplace.rooms.checklists import contributes
from commonplace.rooms.checklists.operations import checklist

ROOM = Room(
    name="checklists",
    purpose=__doc__,
    toolset="work",
    operations=(checklist,),
    boot_sections=(contributes.TASK_CHECKLISTS_SECTION,),
    resources=(contributes.CHECKLIST,),
    finders={"checklist_": contributes.find_checklist},
    search_sources=(contributes.SEARCH_SOURCE,),
    events=(contributes.CHECKLIST_CHANGED,),
    agent_columns=declare_agent_columns(
        never=("checklist.created_by", "checklist_item.added_by", "checklist_item.checked_by"),
    ),
)
