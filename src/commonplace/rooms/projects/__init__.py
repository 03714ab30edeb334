"""Projects and their rosters."""

from commonplace.agent_names import declare_agent_columns
from commonplace.room import Room
from commonplace.rooms.projects.events import PROJECT_CREATED, PROJECT_DELETED
from commonplace.rooms.projects.operations import list_projects, project
from commonplace.rooms.projects.resources import PROJECT
from commonplace.rooms.projects.retention import OLD_EVENTS

ROOM = Room(
    name="projects",
    purpose=__doc__,
    toolset="admin",
    operations=(project, list_projects),
    retention=(OLD_EVENTS,),
    resources=(PROJECT,),
    events=(PROJECT_CREATED, PROJECT_DELETED),
    agent_columns=declare_agent_columns(
        never=("event.actor", "event.audience"),
    ),
)
