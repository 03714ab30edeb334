"""What projects contribute: their resource, events and retention, and completions for the arguments of resources."""

from typing import Annotated

from pydantic import Field

from commonplace.call import Call
from commonplace.events import EventType
from commonplace.operation import Operation, Reply, operation
from commonplace.project import list_all_project_names
from commonplace.resource import Resource
from commonplace.retention import delete_from_table
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


PROJECT_CREATED = EventType("ProjectCreated", PROJECT)
PROJECT_DELETED = EventType("ProjectDeleted", PROJECT)


OLD_EVENTS = delete_from_table("event", kind="events", key=("n",), setting="event_days")


_MAX_COMPLETIONS = 101
_COMPLETED_COLUMNS = {
    "project": ("project", "name", "name"),
    "agent": ("agent", "name", "project"),
    "name": ("spec", "name", "project"),
    "doc_id": ("document", "id", "project"),
}
"""For each argument: the table, the column with its values, and the column with the project."""

_ROW_CONDITIONS = {"document": "status = 'active'"}
"""SQL condition on the rows of a table that are offered; other tables offer all rows."""

MAX_PREFIX_CHARACTERS = 200
CompletionPrefix = Annotated[str, Field(max_length=MAX_PREFIX_CHARACTERS)]


class CompletionReply(Reply):
    values: list[str] = []


def _define_completion(argument: str) -> Operation:
    table, column, project_column = _COMPLETED_COLUMNS[argument]
    condition = _ROW_CONDITIONS.get(table, "1 = 1")

    async def complete_argument(call: Call, prefix: CompletionPrefix = "") -> CompletionReply:
        """Complete an argument from its first characters."""
        visible = [name for name in await list_all_project_names(call.tx) if call.caller.sees_project(name)]
        values = await store.list_completions(
            call.tx, table, column, project_column, visible, prefix, _MAX_COMPLETIONS, condition
        )
        return CompletionReply(values=values)

    return operation(f"complete:{argument}", role="readonly", session=False)(complete_argument)


COMPLETIONS = {argument: _define_completion(argument) for argument in _COMPLETED_COLUMNS}
