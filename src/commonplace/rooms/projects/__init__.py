"""Projects and their rosters."""

from commonplace.agent_names import declare_agent_columns
from commonplace.room import Room
from commonplace.rooms.projects import contributes
from commonplace.rooms.projects.operations import list_projects, project

ROOM = Room(
    name="projects",
    purpose=__doc__,
    toolset="admin",
    operations=(project, list_projects),
    retention=(contributes.OLD_EVENTS,),
    resources=(contributes.PROJECT,),
    events=(contributes.PROJECT_CREATED, contributes.PROJECT_DELETED),
    agent_columns=declare_agent_columns(
        never=("event.actor", "event.audience"),
    ),
)
