"""Blackboards: sessions to which agents post messages, public or visible only to some of them."""

from commonplace.agent_names import declare_agent_columns
from commonplace.room import Room
from commonplace.rooms.blackboard import contributes
from commonplace.rooms.blackboard.operations import (
    add_message,
    add_private_note,
    close_session,
    create_session,
    get_context,
    get_message,
    get_messages,
    get_session,
    get_session_audit,
    list_sessions,
    search_context,
)
from commonplace.rooms.blackboard.store import rename_author

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
    retention=(contributes.IDLE_SESSIONS, contributes.OLD_READERS),
    resources=(contributes.PAGES, contributes.SESSION),
    finders={"session_": contributes.find_public_message, "msg_": contributes.find_message},
    search_sources=(contributes.SEARCH_SOURCE,),
    events=(contributes.SESSION_CREATED, contributes.SESSION_CLOSED, contributes.MESSAGE_ADDED),
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
