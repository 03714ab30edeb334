"""The resource project://{project}: a project with its roster."""

from commonplace.call import Call
from commonplace.operation import operation
from commonplace.resource import Resource
from commonplace.rooms.projects import model, store


async def load_project_with_roster(call: Call, name: str) -> model.Project:
    row = await store.load_project(call.tx, name)
    members = tuple(map(model.RosterMember.from_row, await store.list_roster_members(call.tx, name)))
    roster = (await store.summarize_rosters(call.tx, [name])).get(name)
    return model.Project.from_row(row, members=members, count=int(roster["n"]) if roster else 0)


@operation("resource:project", role="readonly", session=False)
async def read_project(call: Call, project: str) -> model.Project:
    """A project with its roster."""
    return await load_project_with_roster(call, project)


PROJECT = Resource("project://{project}", "A project and its roster", read_project)
