"""Start and end sessions: a start returns the boot pack, an end stores the handoff and releases locks."""

from commonplace.agent_names import declare_agent_columns
from commonplace.room import Room
from commonplace.rooms.sessions.boot_pack import preview_boot_pack
from commonplace.rooms.sessions.contributes import (
    HANDOFF_SECTION,
    SESSION_ENDED,
    SESSION_RULES,
    SESSION_STARTED,
    UNREAD_POSTS_SECTION,
    rename_sessions,
)
from commonplace.rooms.sessions.operations import bind_windows, end_session, start_session

ROOM = Room(
    name="sessions",
    purpose=__doc__,
    toolset="work",
    operations=(start_session, end_session),
    program_operations=(bind_windows, preview_boot_pack),
    boot_sections=(HANDOFF_SECTION, UNREAD_POSTS_SECTION),
    retention=SESSION_RULES,
    events=(SESSION_STARTED, SESSION_ENDED),
    agent_columns=declare_agent_columns(
        agent=("handoff.agent",),
        room=("session.agent", "session.spawned_by", "seat_name.name"),
        never=("handoff.closed_by",),
    ),
    on_rename=(rename_sessions,),
)
