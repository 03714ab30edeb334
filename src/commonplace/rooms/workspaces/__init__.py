"""Workspaces: the overview and knowledge files of one tool on one machine, readable by all, writable by their own agent."""

from commonplace.agent_names import declare_agent_columns
from commonplace.room import Room
from commonplace.rooms.workspaces.events import (
    KNOWLEDGE_DELETED,
    KNOWLEDGE_WRITTEN,
    OVERVIEW_WRITTEN,
    WORKSPACE_REGISTERED,
)
from commonplace.rooms.workspaces.finders import FINDERS
from commonplace.rooms.workspaces.operations import (
    delete_knowledge,
    get_overview,
    list_knowledge,
    list_versions,
    list_workspaces,
    read_knowledge,
    register_workspace,
    restore_version,
    search_knowledge,
    upload_knowledge,
    write_knowledge,
    write_overview,
)
from commonplace.rooms.workspaces.renames import move_bindings
from commonplace.rooms.workspaces.resources import FILE, WORKSPACE
from commonplace.rooms.workspaces.search import SEARCH_SOURCE

ROOM = Room(
    name="workspaces",
    purpose=__doc__,
    toolset="workspaces",
    operations=(
        get_overview,
        list_workspaces,
        register_workspace,
        list_knowledge,
        read_knowledge,
        search_knowledge,
        write_overview,
        write_knowledge,
        upload_knowledge,
        delete_knowledge,
        list_versions,
        restore_version,
    ),
    resources=(FILE, WORKSPACE),
    finders=FINDERS,
    search_sources=(SEARCH_SOURCE,),
    events=(KNOWLEDGE_WRITTEN, KNOWLEDGE_DELETED, OVERVIEW_WRITTEN, WORKSPACE_REGISTERED),
    agent_columns=declare_agent_columns(
        room=("workspace_binding.agent",),
        never=("workspace_token.given_to", "workspace_version.author"),
    ),
    on_rename=(move_bindings,),
)
