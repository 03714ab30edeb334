"""Where the live sessions of a project work, for readers without a session: checkouts://{project}."""

from commonplace.call import Call
from commonplace.identity.liveness import SESSION_LIVE_MICROSECONDS
from commonplace.operation import operation
from commonplace.resource import Resource
from commonplace.rooms.checkouts import store
from commonplace.rooms.checkouts.model import CheckoutListing, CheckoutSession


@operation("resource:checkouts", role="readonly", session=False)
async def read_checkouts(call: Call, project: str) -> CheckoutListing:
    """The working trees of the live sessions of a project."""
    rows = await store.list_all_checkouts(call.tx, project, call.now - SESSION_LIVE_MICROSECONDS)
    return CheckoutListing(checkouts=[CheckoutSession.from_row(row, "") for row in rows])


CHECKOUTS = Resource("checkouts://{project}", "Working trees of a project's sessions", read_checkouts)
