"""The resources session://{session_id} and session://{session_id}/messages/{after}."""

from commonplace.call import Call
from commonplace.operation import Reply, operation
from commonplace.resource import Resource
from commonplace.rooms.blackboard import model, store
from commonplace.rooms.blackboard.reader import identify_reader, visibility_of_audience
from commonplace.rooms.blackboard.session import describe_session, load_visible_session, reader_view

_PAGE_MESSAGES = 100


class BlackboardStatistics(Reply):
    message_count: int
    by_visibility: dict[str, int] = {}
    hidden_count: int | None = None


class BlackboardView(Reply):
    session: model.BlackboardSession
    statistics: BlackboardStatistics
    messages: list[model.BlackboardMessage]


@operation("resource:session", role="readonly", session=False)
async def read_blackboard(call: Call, session_id: model.BlackboardId) -> BlackboardView:
    """Get a blackboard and its newest 100 messages."""
    reader = await identify_reader(call)
    row = await load_visible_session(call, session_id)
    view = reader_view(row, reader)
    counts = await store.count_messages_by_audience(call.tx, view)
    visible_count = sum(counts.values())
    statistics = BlackboardStatistics(
        message_count=visible_count,
        by_visibility={visibility_of_audience(audience): n for audience, n in counts.items()},
        hidden_count=max(0, row["last_sequence"] - visible_count) if reader.is_admin else None,
    )
    return BlackboardView(
        session=await describe_session(call, row, reader),
        statistics=statistics,
        messages=[
            model.BlackboardMessage.from_row(message)
            for message in await store.list_newest_messages(call.tx, view, _PAGE_MESSAGES)
        ],
    )


@operation("resource:session_messages", role="readonly", session=False)
async def read_blackboard_messages(
    call: Call, session_id: model.BlackboardId, after: model.PageOffset
) -> model.MessagePage:
    """Get 100 messages after a sequence number."""
    reader = await identify_reader(call)
    row = await load_visible_session(call, session_id)
    view = store.MessageView(row["project"], row["id"], reader.list_audiences(), after=after)
    rows = await store.list_messages(call.tx, view, _PAGE_MESSAGES + 1, 0)
    return model.MessagePage.from_rows(
        rows[:_PAGE_MESSAGES],
        await store.count_messages_in_view(call.tx, view),
        has_more=len(rows) > _PAGE_MESSAGES,
        after=after,
    )


# The last placeholder of a template may contain slashes, so the longer template must be tried first.
PAGES = Resource(
    "session://{session_id}/messages/{after}", "Messages of a blackboard", read_blackboard_messages
)
SESSION = Resource(
    "session://{session_id}",
    "A blackboard and its newest messages",
    read_blackboard,
    full_ids=lambda reply: {"session_id": reply.session.session_id},
)
