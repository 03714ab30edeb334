"""Work items, overlaps between the files of agents, and signals that unblock work."""

from commonplace.agent_names import declare_agent_columns
from commonplace.room import Room
from commonplace.rooms.work.contributes import (
    BLOCKING_OTHERS_SECTION,
    FINDERS,
    OWN_WORK_SECTION,
    SEARCH_SOURCE,
    SIGNAL_SENT,
    SIGNALS,
    SIGNALS_SECTION,
    WAITS_LEFT_SECTION,
    WORK,
    WORK_RULES,
    WORK_UNBLOCKED,
    WORK_UPDATED,
    list_file_changes,
)
from commonplace.rooms.work.operations import get_active_work, update_work

ROOM = Room(
    name="work",
    purpose=__doc__,
    toolset="work",
    operations=(update_work, get_active_work),
    boot_sections=(OWN_WORK_SECTION, SIGNALS_SECTION, BLOCKING_OTHERS_SECTION, WAITS_LEFT_SECTION),
    retention=WORK_RULES,
    finders=FINDERS,
    search_sources=(SEARCH_SOURCE,),
    events=(WORK_UPDATED, WORK_UNBLOCKED, SIGNAL_SENT),
    file_changes=(list_file_changes,),
    resources=(WORK, SIGNALS),
    agent_columns=declare_agent_columns(
        session=("work.agent", "touched.agent"),
        agent=("work.blocked_by",),
        never=("signal.agent",),
    ),
)
