"""Specifications of interfaces, each with one owner and rising versions."""

from commonplace.agent_names import declare_agent_columns
from commonplace.room import Room
from commonplace.rooms.specs.boot import STATE_SPEC_SECTION, TASK_SPECS_SECTION
from commonplace.rooms.specs.events import SPEC_CHANGED
from commonplace.rooms.specs.finders import FINDERS
from commonplace.rooms.specs.operations import define_spec, get_spec, list_specs
from commonplace.rooms.specs.resources import SPEC
from commonplace.rooms.specs.retention import OLD_READERS
from commonplace.rooms.specs.search import SEARCH_SOURCE
from commonplace.rooms.specs.store import rename_reader

ROOM = Room(
    name="specs",
    purpose=__doc__,
    toolset="work",
    operations=(define_spec, get_spec, list_specs),
    boot_sections=(STATE_SPEC_SECTION, TASK_SPECS_SECTION),
    retention=(OLD_READERS,),
    resources=(SPEC,),
    finders=FINDERS,
    search_sources=(SEARCH_SOURCE,),
    events=(SPEC_CHANGED,),
    agent_columns=declare_agent_columns(
        agent=("spec.owner",),
        room=("spec_reader.agent",),
        never=("spec_version.owner", "spec_version.author"),
    ),
    on_rename=(rename_reader,),
)
