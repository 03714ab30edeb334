"""The resource functions://{project}: the first page of the function registry."""

from commonplace.call import Call
from commonplace.operation import operation
from commonplace.resource import Resource
from commonplace.rooms.functions import model, store

_PAGE_FUNCTIONS = 2000


async def list_function_page(call: Call, cursor: str) -> model.FunctionListing:
    """Functions of the call's project, ordered by file and name; the next page starts at `next_cursor`."""
    file, _, name = cursor.partition("\n")
    rows = await store.list_function_digests(call.tx, call.project, (file, name), _PAGE_FUNCTIONS + 1)
    page = rows[:_PAGE_FUNCTIONS]
    return model.FunctionListing(
        count=len(page),
        functions=[(row["file"], row["name"], row["digest"], row["line"], row["end_line"]) for row in page],
        next_cursor=f"{page[-1]['file']}\n{page[-1]['name']}" if len(rows) > _PAGE_FUNCTIONS else None,
    )


@operation("resource:functions", role="readonly", session=False)
async def read_functions(call: Call, project: str) -> model.FunctionListing:  # noqa: ARG001 - the call has checked it
    """Functions of the project: file, name, digest, lines."""
    return await list_function_page(call, "")


FUNCTIONS = Resource("functions://{project}", "Functions of a project", read_functions)
