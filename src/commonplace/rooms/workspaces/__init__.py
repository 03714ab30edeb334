"""What each machine's tool knows of a project: an overview and knowledge files, read by all, written by its own."""

from commonplace.rooms.workspaces.files import SOURCE
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
from commonplace.rooms.workspaces.resources import FILE, WORKSPACE, finders

TOOLSET = "workspaces"
OPERATIONS = (
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
)
FINDERS = finders
SEARCHED = (SOURCE,)
RESOURCES = (FILE, WORKSPACE)
