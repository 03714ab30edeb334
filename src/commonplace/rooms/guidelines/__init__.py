"""Rules that every session reads at its start: global ones, then those of the project."""

from commonplace.agent_names import declare_agent_columns
from commonplace.room import Room
from commonplace.rooms.guidelines.boot import GUIDELINES_SECTION
from commonplace.rooms.guidelines.events import GUIDELINE_CHANGED
from commonplace.rooms.guidelines.finders import FINDERS
from commonplace.rooms.guidelines.operations import guidelines
from commonplace.rooms.guidelines.resources import GUIDELINES
from commonplace.rooms.guidelines.rule_test import rule_test
from commonplace.rooms.guidelines.search import SEARCH_SOURCE

ROOM = Room(
    name="guidelines",
    purpose=__doc__,
    toolset="work",
    operations=(guidelines, rule_test),
    borrowed_tools=("memory_change_status",),
    boot_sections=(GUIDELINES_SECTION,),
    resources=(GUIDELINES,),
    finders=FINDERS,
    search_sources=(SEARCH_SOURCE,),
    events=(GUIDELINE_CHANGED,),
    agent_columns=declare_agent_columns(
        never=("guideline.updated_by", "guideline.enforced_by"),
    ),
)
