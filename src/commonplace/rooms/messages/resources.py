"""inbox://{project}/{agent}: what waits there unread."""

from commonplace import errors
from commonplace.call import Call
from commonplace.operation import Reply, operation
from commonplace.resource import Resource
from commonplace.rooms.agents.model import AgentName
from commonplace.rooms.messages import store
from commonplace.rooms.messages.model import MessageHeader

_SHOWN = 50


class Inbox(Reply):
    unread: int
    messages: list[MessageHeader] = []


@operation("resource:inbox", role="readonly", session=False)
async def read_inbox(call: Call, project: str, agent: AgentName) -> Inbox:
    """Headers of an agent's unread mail: its own, or anybody's for an admin."""
    if call.caller.agent != agent and not call.caller.includes("admin"):
        raise errors.Forbidden("Mail is read by its recipient.", hint="Use the key of that agent.")
    rows = await store.list_inbox_messages(call.tx, project, agent, limit=_SHOWN)
    unread = await store.count_unread_messages(call.tx, project, agent)
    return Inbox(unread=unread, messages=[MessageHeader.from_row(row, call.now) for row in rows])


INBOX = Resource("inbox://{project}/{agent}", "Unread mail of an agent", read_inbox)
