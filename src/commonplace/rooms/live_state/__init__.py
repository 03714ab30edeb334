"""What a person sees at a glance: who waits, who works on what, what was prevented, and what happened."""

from commonplace.room import Room
from commonplace.rooms.live_state.file_record import get_file_record
from commonplace.rooms.live_state.markdown import render_markdown
from commonplace.rooms.live_state.operations import get_live_counts, get_live_state, get_standup, list_events

ROOM = Room(
    name="live_state",
    purpose=__doc__,
    toolset="admin",
    operations=(),
    program_operations=(
        get_live_state,
        get_live_counts,
        get_standup,
        list_events,
        get_file_record,
        render_markdown,
    ),
)
