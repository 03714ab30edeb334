"""What waits for a person in a project, for readers without a session: requests://{project}."""

from commonplace.call import Call
from commonplace.operation import operation
from commonplace.resource import Resource
from commonplace.rooms.requests import store
from commonplace.rooms.requests.model import RequestListing, build_request


@operation("resource:requests", role="readonly", session=False)
async def read_requests(call: Call, project: str) -> RequestListing:
    """The requests of a project that wait for a person, newest first."""
    rows = await store.list_waiting_requests(call.tx, [project], call.now)
    return RequestListing(count=len(rows), requests=[build_request(row, call.now) for row in rows])


REQUESTS = Resource("requests://{project}", "What waits for a person in a project", read_requests)
