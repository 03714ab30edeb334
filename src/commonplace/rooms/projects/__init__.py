"""Projects and their rosters."""

from commonplace.agent_names import declare_agent_columns
from commonplace.room import Room
from commonplace.rooms.projects import contributes
from commonplace.rooms.projects.operation_search import call_operation, find_operation
from commonplace.rooms.projects.operations import list_projects, project

ROOM = Room(
    name="projects",
    purpose=__doc__,
    toolset="admin",
    operations=(project, list_projects),
    program_operations=(find_operation, call_operation),
    retention=(contributes.OLD_EVENTS,),
    resources=(contributes.PROJECT,),
    events=(contributes.PROJECT_CREATED, contributes.PROJECT_DELETED),
    agent_columns=declare_agent_columns(
        never=("event.actor", "event.audience"),
    ),
)
