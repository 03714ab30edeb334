"""What checkouts contribute to other parts of the server: events of what hooks and guards prevented, a resource, retention."""

from commonplace.call import Call
from commonplace.events import EventType
from commonplace.identity.liveness import SESSION_LIVE_MICROSECONDS
from commonplace.operation import operation
from commonplace.resource import Resource
from commonplace.retention import delete_from_table
from commonplace.rooms.checkouts import store
from commonplace.rooms.checkouts.model import CheckoutListing, CheckoutSession


@operation("resource:checkouts", role="readonly", session=False)
async def read_checkouts(call: Call, project: str) -> CheckoutListing:
    """The working trees of the live sessions of a project."""
    rows = await store.list_all_checkouts(call.tx, project, call.now - SESSION_LIVE_MICROSECONDS)
    return CheckoutListing(checkouts=[CheckoutSession.from_row(row, "") for row in rows])


CHECKOUTS = Resource("checkouts://{project}", "Working trees of a project's sessions", read_checkouts)


EDIT_DENIED = EventType("EditDenied", CHECKOUTS)
COMMAND_DENIED = EventType("CommandDenied", CHECKOUTS)
COMMIT_REFUSED = EventType("CommitRefused", CHECKOUTS)
RULE_FIRED = EventType("RuleFired", CHECKOUTS)
RESCUE_MADE = EventType("RescueMade", CHECKOUTS)
CONFLICT_PREDICTED = EventType("ConflictPredicted", CHECKOUTS)

EVENTS = {
    "edit_denied": EDIT_DENIED,
    "command_denied": COMMAND_DENIED,
    "commit_refused": COMMIT_REFUSED,
    "rule_fired": RULE_FIRED,
    "rule_warned": RULE_FIRED,
    "rescue_made": RESCUE_MADE,
    "conflict_predicted": CONFLICT_PREDICTED,
}
"""By the name that hooks and guards report them under."""


ENDED_CHECKOUTS = delete_from_table(
    "checkout",
    kind="checkouts",
    key=("session",),
    old="not exists (select 1 from session where session.project = checkout.project"
    " and session.id = checkout.session and coalesce(session.ended_at, session.active_at) > $2)",
    setting="work_days",
)
