"""The projects of this server and who works in them."""

from commonplace.rooms.projects.follow import forget_events
from commonplace.rooms.projects.operations import list_projects, project

TOOLSET = "admin"
OPERATIONS = (project, list_projects)
SWEEPS = (forget_events,)
