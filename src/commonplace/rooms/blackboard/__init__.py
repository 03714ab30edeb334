"""Blackboards: sessions to which agents post messages, public or visible only to some of them."""

from commonplace.agent_names import declare_agent_columns
from commonplace.room import Room
from commonplace.rooms.blackboard.events import MESSAGE_ADDED, SESSION_CLOSED, SESSION_CREATED
from commonplace.rooms.blackboard.finders import FINDERS
from commonplace.rooms.blackboard.messages import (
    add_message,
    add_private_note,
    get_context,
    get_message,
    get_messages,
    search_context,
)
from commonplace.rooms.blackboard.operations import (
    close_session,
    create_session,
    get_session,
    get_session_audit,
    list_sessions,
)
from commonplace.rooms.blackboard.readers import OLD_READERS
from commonplace.rooms.blackboard.renames import rename_author
from commonplace.rooms.blackboard.resources import PAGES, SESSION
from commonplace.rooms.blackboard.retention import IDLE_SESSIONS
from commonplace.rooms.blackboard.search import SEARCH_SOURCE

ROOM = Room(
    name="blackboard",
    purpose=__doc__,
    toolset="context",
    operations=(
        create_session,
        get_session,
        list_sessions,
        close_session,
        add_message,
        add_private_note,
        get_message,
        get_context,
        get_messages,
        search_context,
        get_session_audit,
    ),
    retention=(IDLE_SESSIONS, OLD_READERS),
    resources=(PAGES, SESSION),
    finders=FINDERS,
    search_sources=(SEARCH_SOURCE,),
    events=(SESSION_CREATED, SESSION_CLOSED, MESSAGE_ADDED),
    agent_columns=declare_agent_columns(
        room=(
            "context_message.sender",
            "context_message.owner",
            "context_message.audience",
            "context_tally.sender",
            "context_tally.audience",
        ),
        never=("context_session.created_by", "context_session.closed_by"),
    ),
    on_rename=(rename_author,),
)
