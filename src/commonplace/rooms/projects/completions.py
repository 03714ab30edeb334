"""Completions for the arguments of resources (MCP completion/complete): names that the caller may see."""

from typing import Annotated

from pydantic import Field

from commonplace.call import Call
from commonplace.operation import Operation, Reply, operation
from commonplace.project import list_all_project_names
from commonplace.rooms.projects import store

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
