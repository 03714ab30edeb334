"""Specifications of interfaces, each with one owner and rising versions."""

from commonplace.agent_names import declare_agent_columns
from commonplace.room import Room
from commonplace.rooms.specs import contributes
from commonplace.rooms.specs.operations import define_spec, get_spec, list_specs
from commonplace.rooms.specs.store import rename_reader

ROOM = Room(
    name="specs",
    purpose=__doc__,
    toolset="work",
    operations=(define_spec, get_spec, list_specs),
    boot_sections=(contributes.STATE_SPEC_SECTION, contributes.TASK_SPECS_SECTION),
    retention=(contributes.OLD_READERS,),
    resources=(contributes.SPEC,),
    finders={"spec_": contributes.find_spec},
    search_sources=(contributes.SEARCH_SOURCE,),
    events=(contributes.SPEC_CHANGED,),
    agent_columns=declare_agent_columns(
        agent=("spec.owner",),
        room=("spec_reader.agent",),
        never=("spec_version.owner", "spec_version.author"),
    ),
    on_rename=(rename_reader,),
)
