"""What the sender of a message reads about its way: who sees it with the next reply, and whose inbox keeps it.

The counts of the reply (`recipients`, `live_subscribers`, `offline`) say the same to programs.
"""

from collections.abc import Sequence

from commonplace.call import Call
from commonplace.clock import format_age
from commonplace.identity.liveness import AgentPresence, load_presence
from commonplace.rooms.messages.model import MESSAGE_STATUSES, MessageDraft
from commonplace.rooms.messages.recipients import Recipients
from commonplace.store.database import Row

_PENDING = MESSAGE_STATUSES.index("pending")


async def describe_delivery(call: Call, draft: MessageDraft, to: Recipients, sessions: Sequence[Row]) -> str:
    """`sessions` are the live ones of the recipients. A message that is not pushed has a warning instead."""
    if not draft.is_pushed or not to.names:
        return ""
    offline = to.list_offline({session["agent"] for session in sessions})
    if to.names != [to.address]:
        return _describe_group(len(to.names), len(offline))
    if to.people:
        return f"{to.address} reads it on the page"
    if not offline:
        return _describe_live(to.address, max(session["active_at"] for session in sessions), call.now)
    presence = await load_presence(call.tx, draft.project, to.address, call.now)
    return f"{presence.describe(call.now)}; it waits in the inbox"


def _describe_live(agent: str, active_at: int, now: int) -> str:
    presence = AgentPresence(agent, is_live=True, last_active_at=active_at)
    told = (
        "; it is told with its next call" if presence.is_silent(now) else " and sees it with the next reply"
    )
    return presence.describe(now) + told


def _describe_group(count: int, offline: int) -> str:
    if not offline:
        return (
            f"all {count} see it with their next reply"
            if count > 1
            else "the recipient sees it with the next reply"
        )
    if offline == count:
        return "nobody is live: it waits in the inboxes of those in `offline`"
    return f"{count - offline} of {count} see it with their next reply; in the inboxes of those in `offline` it waits"


def describe_duplicate(deliveries: Sequence[Row], first_sent_at: int, now: int) -> str:
    """Say that nothing was sent again, and whether the first one was read."""
    unread = [delivery["agent"] for delivery in deliveries if delivery["state"] == _PENDING]
    read = f"{len(deliveries) - len(unread)} of {len(deliveries)} have read it"
    if len(deliveries) == 1:
        read = f"{deliveries[0]['agent']} has {'not read it yet' if unread else 'read it'}"
    return f"not sent again: you sent the same (sent: {format_age(first_sent_at, now)}); {read}"
