"""The explicit list of rooms. To add a room, add its `ROOM` here; `room.py` says what a room is."""

from commonplace.room import Catalogue
from commonplace.rooms import (
    admin,
    agent_memory,
    agents,
    archives,
    backlog,
    blackboard,
    checklists,
    checkouts,
    databases,
    functions,
    guidelines,
    journals,
    knowledge,
    live_state,
    locks,
    messages,
    projects,
    requests,
    sessions,
    specs,
    webhooks,
    work,
    workspaces,
)

# The dozen tools that every agent needs every day, and two that reach every other. A client that shows each tool to its
# model gets these. Every other toolset is the operations of its rooms.
# memory_heartbeat is not among them: every call counts as a sign of life.
CORE_TOOLSET = (
    "memory_start_session",
    "memory_end_session",
    "memory_query",
    "memory_get_by_id",
    "memory_store",
    "memory_record_learning",
    "memory_lock_files",
    "memory_unlock_files",
    "memory_get_locks",
    "memory_send_message",
    "memory_get_messages",
    "memory_update_work",
    "memory_find_operation",
    "memory_call_operation",
)

# For programs, or another name of what is listed.
_UNLISTED = frozenset(
    {"get_messages", "upload_knowledge", "upload_session", "memory_rule_test", "get_session_audit"}
)

CATALOGUE = Catalogue(
    (
        sessions.ROOM,
        knowledge.ROOM,
        agents.ROOM,
        messages.ROOM,
        projects.ROOM,
        guidelines.ROOM,
        admin.ROOM,
        locks.ROOM,
        checkouts.ROOM,
        requests.ROOM,
        webhooks.ROOM,
        work.ROOM,
        backlog.ROOM,
        blackboard.ROOM,
        agent_memory.ROOM,
        specs.ROOM,
        checklists.ROOM,
        functions.ROOM,
        databases.ROOM,
        workspaces.ROOM,
        archives.ROOM,
        journals.ROOM,
        live_state.ROOM,
    ),
    CORE_TOOLSET,
    _UNLISTED,
)
