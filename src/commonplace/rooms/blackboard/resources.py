"""session://{session_id} and its pages."""

from typing import Annotated

from commonplace.call import Call
from commonplace.operation import Reply, operation
from commonplace.resource import Resource
from commonplace.rooms.blackboard import model, store
from commonplace.rooms.blackboard.reader import identify, visibility_of
from commonplace.rooms.blackboard.session import described, locate, view_of

_NEWEST = 100


class Statistics(Reply):
    message_count: int
    by_visibility: dict[str, int] = {}
    hidden_count: int | None = None


class SessionView(Reply):
    session: model.Session
    statistics: Statistics
    messages: list[model.Message] = []


@operation("resource:session", role="readonly", session=False)
async def read_session(call: Call, session_id: model.SessionId) -> SessionView:
    """A blackboard and its newest 100 messages."""
    reader = await identify(call)
    row = await locate(call, session_id)
    view = view_of(row, reader)
    counts = await store.audience_counts(call.tx, view)
    seen = sum(counts.values())
    statistics = Statistics(
        message_count=seen,
        by_visibility={visibility_of(audience): n for audience, n in counts.items()},
        hidden_count=max(0, row["last_sequence"] - seen) if reader.admin else None,
    )
    return SessionView(
        session=await described(call, row, reader),
        statistics=statistics,
        messages=[model.Message.of(each) for each in await store.newest(call.tx, view, _NEWEST)],
    )


@operation("resource:session_messages", role="readonly", session=False)
async def read_messages(
    call: Call, session_id: model.SessionId, after: Annotated[int, model.whole(0)]
) -> model.Messages:
    """100 messages after a sequence number."""
    reader = await identify(call)
    row = await locate(call, session_id)
    view = store.View(row["project"], row["id"], reader.audiences(), after=after)
    rows = await store.page(call.tx, view, _NEWEST + 1, 0)
    return model.Messages.page(
        rows[:_NEWEST], await store.count(call.tx, view), has_more=len(rows) > _NEWEST, after=after
    )


# The last placeholder of a template may hold slashes, so the longer address is tried first.
PAGES = Resource("session://{session_id}/messages/{after}", "Messages of a blackboard", read_messages)
SESSION = Resource("session://{session_id}", "A blackboard and its newest messages", read_session)
