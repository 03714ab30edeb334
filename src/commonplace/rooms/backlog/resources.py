"""The resource backlog://{project}: the open items of a project."""

from commonplace.call import Call
from commonplace.operation import operation
from commonplace.resource import Resource
from commonplace.rooms.backlog import listing_store, store
from commonplace.rooms.backlog.model import BacklogFilters, BacklogItem, BacklogListing

_MAX_RESOURCE_ITEMS = 50


@operation("resource:backlog", role="readonly", session=False)
async def read_backlog(call: Call, project: str) -> BacklogListing:
    """List the open items of the project, by priority, then oldest."""
    filters = BacklogFilters(projects=[project], now=call.now)
    rows, total = await listing_store.find_items(call.tx, filters, _MAX_RESOURCE_ITEMS, 0)
    dependencies = (
        await store.list_dependencies(call.tx, [project], [row["id"] for row in rows]) if rows else []
    )
    items = [BacklogItem.from_row(row, dependencies, call.now).with_snippet for row in rows]
    return BacklogListing(count=len(rows), total=total, items=items)


BACKLOG = Resource("backlog://{project}", "Open work of a project", read_backlog)
