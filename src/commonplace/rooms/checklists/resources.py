"""The resource checklist://{project}/{name}: a checklist with its items."""

from commonplace import errors
from commonplace.call import Call
from commonplace.operation import operation
from commonplace.resource import Resource
from commonplace.rooms.checklists import model, store


@operation("resource:checklist", role="readonly", session=False)
async def read_checklist(call: Call, project: str, name: model.ChecklistName) -> model.Checklist:
    """Get a checklist with who checked what and when."""
    row = await store.load_checklist(call.tx, project, name)
    if row is None:
        raise errors.NotFound(
            f"Checklist '{name}' does not exist in '{project}'.",
            hint='Find its name with memory_checklist(action="list").',
        )
    return model.Checklist.from_row(row, await store.list_items(call.tx, project, name))


CHECKLIST = Resource("checklist://{project}/{name}", "A checklist of a project", read_checklist)
