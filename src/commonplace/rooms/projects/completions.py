"""What an argument of a resource may be, as far as it is typed: names of what the caller sees."""

from typing import Annotated

from pydantic import Field

from commonplace.call import Call
from commonplace.operation import Operation, Reply, operation
from commonplace.rooms.projects import store

_SHOWN = 101
_PLACES = {
    "project": ("project", "name", "name"),
    "agent": ("agent", "name", "project"),
    "name": ("spec", "name", "project"),
    "doc_id": ("document", "id", "project"),
}
"""Which column of which table completes an argument, and where its row's project stands."""

_OFFERED = {"document": "status = 'active'"}
"""Which rows of a table are worth offering, where not all are."""

Begun = Annotated[str, Field(max_length=200)]


class Completed(Reply):
    values: list[str] = []


def _completing(argument: str) -> Operation:
    table, column, place = _PLACES[argument]
    offered = _OFFERED.get(table, "1 = 1")

    async def complete(call: Call, begun: Begun = "") -> Completed:
        """Names that begin so."""
        visible = [name for name in await store.names(call.tx) if call.caller.sees(name)]
        found = await store.beginning(call.tx, table, column, place, visible, begun, _SHOWN, offered)
        return Completed(values=found)

    return operation(f"complete:{argument}", role="readonly", session=False)(complete)


COMPLETIONS = {argument: _completing(argument) for argument in _PLACES}
