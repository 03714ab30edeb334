"""The resource inbox://{project}/{agent}: headers of the agent's unread mail."""

from commonplace import errors
from commonplace.arguments import AgentName
from commonplace.audience import load_event_reader
from commonplace.call import Call
from commonplace.operation import Reply, operation
from commonplace.resource import Resource
from commonplace.rooms.messages import store
from commonplace.rooms.messages.model import MessageHeader

_MAX_INBOX_HEADERS = 50


class UnreadInbox(Reply):
    unread: int
    messages: list[MessageHeader]


@operation("resource:inbox", role="readonly", session=False)
async def read_inbox(call: Call, project: str, agent: AgentName) -> UnreadInbox:
    """Headers of an agent's unread mail, for the agent itself or an admin."""
    if not (await load_event_reader(call)).can_see_audience(f"inbox:{agent}"):
        raise errors.Forbidden(
            f"Only '{agent}' or an admin may read this inbox.",
            hint=f"Start a session as '{agent}', or use the key that is bound to it.",
        )
    rows = await store.list_inbox_messages(call.tx, project, agent, limit=_MAX_INBOX_HEADERS)
    unread = await store.count_unread_messages(call.tx, project, agent)
    return UnreadInbox(unread=unread, messages=[MessageHeader.from_row(row, call.now) for row in rows])


INBOX = Resource("inbox://{project}/{agent}", "Unread mail of an agent", read_inbox)
