"""The resource keys://server: the keys of this server, for owners."""

from commonplace.call import Call
from commonplace.operation import operation
from commonplace.resource import Resource
from commonplace.rooms.admin import model, store

MAX_LISTED_KEYS = 50


@operation("resource:keys", role="owner", session=False)
async def read_keys(call: Call) -> model.ApiKeyListing:
    """The newest keys, without their secrets."""
    rows = [row for row in await store.list_all_keys(call.tx) if model.is_visible_key(call.caller, row)]
    return model.ApiKeyListing(
        total=len(rows), keys=[model.ApiKey.from_row(row, call.now) for row in rows[:MAX_LISTED_KEYS]]
    )


KEYS = Resource("keys://server", "Keys of this server", read_keys)
