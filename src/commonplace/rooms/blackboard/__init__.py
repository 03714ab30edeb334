"""Blackboards: sessions in which agents share what they find, with notes that only some may see."""

from commonplace.rooms.blackboard.found import SOURCE
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
from commonplace.rooms.blackboard.resources import PAGES, SESSION
from commonplace.rooms.blackboard.sweep import close_idle

TOOLSET = "context"
OPERATIONS = (
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
)
RESOURCES = (PAGES, SESSION)
SEARCHED = (SOURCE,)
SWEEPS = (close_idle,)
