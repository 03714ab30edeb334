"""Who else hears that a session started."""

from collections.abc import Sequence

from commonplace import activity, events
from commonplace.call import Call
from commonplace.rooms.messages import store as messages
from commonplace.rooms.messages.model import MessageDraft
from commonplace.rooms.sessions.arrival import Arrival
from commonplace.store.database import Row

_NAMESAKES = 5


async def tell(call: Call, arrived: Arrival, live: Sequence[Row]) -> None:
    """The other holders of the name, and the admins when somebody unknown came in."""
    namesakes = [row["id"] for row in live if row["agent"] == arrived.agent and arrived.named]
    if namesakes:
        text = f"Another session started as '{arrived.agent}' in {call.project}."
        await activity.tell(call.tx, call.project, namesakes[:_NAMESAKES], text, call.now)
    if arrived.pending and not arrived.known:
        await _tell_admins(call, arrived)


async def _tell_admins(call: Call, arrived: Arrival) -> None:
    """Mail waits for those who are away; a notice reaches those who are there."""
    admins = await messages.list_roster_names(call.tx, call.project, call.now, admins=True)
    if not admins:
        return
    text = f"'{arrived.agent}' is not on the roster of {call.project} and waits to be registered."
    n = await events.count(call.tx, call.project, "message")
    row = await messages.insert_message(call.tx, _mail(call, arrived, text), admins, n, call.now)
    await messages.notify_agents(call.tx, call.project, admins, text, call.now)
    for admin in admins:
        uri = f"inbox://{call.project}/{admin}"
        call.emit("MessageSent", uri, audience=f"inbox:{admin}", id=row["id"], priority="normal")


def _mail(call: Call, arrived: Arrival, text: str) -> MessageDraft:
    return MessageDraft(
        project=call.project,
        sender=arrived.agent,
        sender_project=call.project,
        to="@admins",
        body=text,
        subject="",
        priority="normal",
        category="task",
        require_human=False,
        idempotency_key=None,
    )
