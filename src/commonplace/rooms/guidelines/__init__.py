"""Rules that every session reads at its start: global ones, then those of the project."""

from commonplace.agent_names import declare_agent_columns
from commonplace.room import Room
from commonplace.rooms.guidelines import contributes
from commonplace.rooms.guidelines.operations import guidelines
from commonplace.rooms.guidelines.rule_set import rule_test

ROOM = Room(
    name="guidelines",
    purpose=__doc__,
    toolset="work",
    operations=(guidelines, rule_test),
    borrowed_tools=("memory_change_status",),
    boot_sections=(contributes.GUIDELINES_SECTION, contributes.PROPOSED_SECTION),
    resources=(contributes.GUIDELINES,),
    finders={"guideline_": contributes.find_guideline},
    search_sources=(contributes.SEARCH_SOURCE,),
    events=(contributes.GUIDELINE_CHANGED,),
    agent_columns=declare_agent_columns(
        never=("guideline.updated_by", "guideline.enforced_by", "guideline.confirmed_by"),
    ),
)
