"""Mail for readers without a session, which stays unread: inbox://{project}/{agent} (headers) and memory_list_inbox."""

from commonplace import errors
from commonplace.arguments import AgentName
from commonplace.audience import load_event_reader
from commonplace.call import Call
from commonplace.operation import Reply, operation
from commonplace.resource import Resource
from commonplace.rooms.messages import store
from commonplace.rooms.messages.model import (
    InboxCursor,
    InboxLimit,
    InboxMessage,
    InboxPage,
    MessageHeader,
    format_inbox_cursor,
    parse_inbox_cursor,
    truncate_page,
)

_MAX_INBOX_HEADERS = 50


class AgentInbox(InboxPage, kw_only=True):
    agent: str


class UnreadInbox(Reply):
    unread: int
    messages: list[MessageHeader]


@operation("resource:inbox", role="readonly", session=False)
async def read_inbox(call: Call, project: str, agent: AgentName) -> UnreadInbox:
    """Headers of an agent's unread mail, for the agent itself or an admin."""
    await _require_reader(call, agent)
    rows = await store.list_inbox_messages(call.tx, project, agent, limit=_MAX_INBOX_HEADERS)
    unread = await store.count_unread_messages(call.tx, project, agent)
    return UnreadInbox(unread=unread, messages=[MessageHeader.from_row(row, call.now) for row in rows])


@operation(
    "memory_list_inbox", role="readonly", session="optional", example={"project": "shop", "agent": "ann"}
)
async def list_inbox(
    call: Call,
    project: str,
    agent: AgentName | None = None,
    include_delivered: bool = False,
    limit: InboxLimit = 20,
    cursor: InboxCursor | None = None,
) -> AgentInbox:
    """Mail of an agent (default: the key's), for the agent itself or an admin; nothing is marked as delivered."""
    owner = agent or call.require_agent()
    await _require_reader(call, owner)
    rows = await store.list_inbox_messages(
        call.tx,
        project,
        owner,
        limit=limit + 1,
        unread_only=not include_delivered,
        after=parse_inbox_cursor(cursor) if cursor else None,
    )
    page = truncate_page(rows[:limit])
    return AgentInbox(
        agent=owner,
        count=len(page),
        unread=await store.count_unread_messages(call.tx, project, owner),
        messages=[InboxMessage.from_row(row, call.now, with_body=True) for row in page],
        next_cursor=format_inbox_cursor(page[-1]) if len(page) < len(rows) else "",
    )


async def _require_reader(call: Call, agent: str) -> None:
    if not (await load_event_reader(call)).can_see_audience(f"inbox:{agent}"):
        raise errors.Forbidden(
            f"Only '{agent}' or an admin may read this inbox.",
            hint=f"Start a session as '{agent}', or use the key that is bound to it.",
        )


INBOX = Resource("inbox://{project}/{agent}", "Unread mail of an agent", read_inbox)
