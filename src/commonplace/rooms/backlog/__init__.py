"""Tasks of a project, with their dependencies, assignees and change history."""

from commonplace.agent_names import declare_agent_columns
from commonplace.room import Room
from commonplace.rooms.backlog.claims import RENEW_CLAIMS
from commonplace.rooms.backlog.contributes import (
    BACKLOG_CHANGED,
    BACKLOG_RESOURCE,
    BACKLOG_SECTION,
    FILED_SECTION,
    FINDERS,
    ORPHANED_CLAIMS,
    SEARCH_SOURCE,
)
from commonplace.rooms.backlog.model import BACKLOG
from commonplace.rooms.backlog.operations import (
    add_backlog_item,
    batch_backlog,
    complete_backlog_item,
    list_backlog,
    update_backlog_item,
)
from commonplace.rooms.backlog.store import reassign_open_items

ROOM = Room(
    name="backlog",
    purpose=__doc__,
    toolset="work",
    operations=(add_backlog_item, list_backlog, update_backlog_item, complete_backlog_item, batch_backlog),
    boot_sections=(BACKLOG_SECTION, FILED_SECTION),
    retention=(ORPHANED_CLAIMS,),
    resources=(BACKLOG_RESOURCE,),
    nouns=(BACKLOG,),
    finders=FINDERS,
    search_sources=(SEARCH_SOURCE,),
    on_activity=(RENEW_CLAIMS,),
    events=(BACKLOG_CHANGED,),
    agent_columns=declare_agent_columns(
        room=("backlog.assigned_to",),
        never=(
            "backlog.completed_by",
            "backlog.created_by",
            "backlog.was_claimed_by",
            "backlog_change.agent",
            "backlog_change.before",
            "backlog_change.after",
        ),
    ),
    on_rename=(reassign_open_items,),
)
