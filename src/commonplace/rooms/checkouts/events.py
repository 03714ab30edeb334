"""Events of this room: what hooks and guards prevented, so that people can see it."""

from commonplace.events import EventType
from commonplace.rooms.checkouts.resources import CHECKOUTS

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
