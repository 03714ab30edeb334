"""backlog://{project}: what is to be done."""

from commonplace.call import Call
from commonplace.operation import operation
from commonplace.resource import Resource
from commonplace.rooms.backlog import store
from commonplace.rooms.backlog.model import Filters, Item, Listing

_SHOWN = 50


@operation("resource:backlog", role="readonly", session=False)
async def read_backlog(call: Call, project: str) -> Listing:
    """The open work of the project, by priority, then oldest."""
    rows, total = await store.search(call.tx, Filters(projects=[project]), _SHOWN, 0)
    needs = await store.needs(call.tx, [project], [row["id"] for row in rows]) if rows else []
    items = [Item.of(row, needs, call.now).shortened for row in rows]
    return Listing(count=len(rows), total=total, items=items)


BACKLOG = Resource("backlog://{project}", "Open work of a project", read_backlog)
