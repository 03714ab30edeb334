"""What blackboards contribute: their resources, events, finders, search source and retention."""

from collections.abc import Sequence
from typing import Any, get_args

from commonplace import access, events
from commonplace.call import Call
from commonplace.clock import iso
from commonplace.events import EventType
from commonplace.operation import operation
from commonplace.resource import Resource
from commonplace.retention import RetentionRule, Sweep, delete_from_table
from commonplace.rooms.blackboard import model, store
from commonplace.rooms.blackboard.reader import (
    describe_session,
    identify_reader,
    load_visible_session,
    reader_view,
)
from commonplace.search import index
from commonplace.search.source import SearchItem, SearchSource
from commonplace.shortening import shorten_text
from commonplace.store.database import Row, Tx

_PAGE_MESSAGES = 100
_CONCLUSION = "conclusion"
_CHAT_BONUS = -0.5
"""What was said in a discussion counts less than what was written down; its conclusion does not."""
_TITLE_CHARACTERS = 200


@operation("resource:session", role="readonly", session=False)
async def read_blackboard(call: Call, session_id: model.BlackboardId) -> model.BlackboardView:
    """Get a blackboard and its newest 100 messages."""
    reader = await identify_reader(call)
    row = await load_visible_session(call, session_id)
    view = reader_view(row, reader)
    counts = await store.count_messages_by_audience(call.tx, view)
    visible_count = sum(counts.values())
    statistics = model.BlackboardStatistics(
        message_count=visible_count,
        by_visibility={model.visibility_of_audience(audience): n for audience, n in counts.items()},
        hidden_count=max(0, row["last_sequence"] - visible_count) if reader.is_admin else None,
    )
    return model.BlackboardView(
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
SESSION_CREATED = EventType("SessionCreated", SESSION)
SESSION_CLOSED = EventType("SessionClosed", SESSION)
MESSAGE_ADDED = EventType("MessageAdded", SESSION)


async def index_conclusion(tx: Tx, session: Row, summary: str, now: int) -> None:
    entry = index.IndexEntry(
        session["project"],
        index.BLACKBOARD_KIND,
        f"{session['id']}/{_CONCLUSION}",
        _CONCLUSION,
        shorten_text(session["purpose"], _TITLE_CHARACTERS),
        summary,
        now,
    )
    await index.put_entries(tx, [entry])


async def index_message(tx: Tx, draft: store.BlackboardDraft) -> None:
    """Index a new message if everyone who sees the project may read it."""
    if draft.audience:
        return
    purpose = await store.load_purpose(tx, draft.project, draft.session)
    entry = index.IndexEntry(
        draft.project,
        index.BLACKBOARD_KIND,
        f"{draft.session}/{draft.id}",
        draft.message_type,
        shorten_text(purpose, _TITLE_CHARACTERS),
        draft.content,
        draft.at,
    )
    await index.put_new_entries(tx, [entry])


async def load_searched_messages(tx: Tx, project: str, ids: Sequence[str]) -> list[SearchItem]:
    id_pairs = [identity.partition("/")[::2] for identity in ids]
    conclusions = await _load_conclusions(
        tx, project, [session for session, message in id_pairs if message == _CONCLUSION]
    )
    rows = await store.list_public_texts(
        tx, project, [pair[0] for pair in id_pairs], [pair[1] for pair in id_pairs]
    )
    return conclusions + [
        SearchItem(
            id=f"{row['session']}/{row['id']}",
            title=shorten_text(row["purpose"], _TITLE_CHARACTERS),
            text=row["content"],
            type=row["message_type"],
            author=row["sender"],
            created_at=row["at"],
            updated_at=row["at"],
            changed_at=row["at"],
        )
        for row in rows
    ]


async def _load_conclusions(tx: Tx, project: str, sessions: Sequence[str]) -> list[SearchItem]:
    if not sessions:
        return []
    rows = await tx.all(
        "select id, purpose, summary, closed_by, closed_at from context_session"
        " where project = $1 and id = any($2) and summary <> '' and closed_at is not null",
        project,
        list(sessions),
    )
    return [
        SearchItem(
            id=f"{row['id']}/{_CONCLUSION}",
            title=shorten_text(row["purpose"], _TITLE_CHARACTERS),
            text=row["summary"],
            type=_CONCLUSION,
            author=row["closed_by"],
            created_at=row["closed_at"],
            updated_at=row["closed_at"],
            changed_at=row["closed_at"],
            bonus=-_CHAT_BONUS,
        )
        for row in rows
    ]


SEARCH_SOURCE = SearchSource(
    kind=index.BLACKBOARD_KIND,
    load=load_searched_messages,
    types=(*get_args(model.BlackboardMessageType), _CONCLUSION),
    bonus=_CHAT_BONUS,
    goes_stale=True,
    is_shared_with_all=False,
)


async def find_public_message(call: Call, project: str, entry_id: str) -> dict[str, Any] | None:
    """The id is session/message. Messages for some agents only are read with get_message."""
    if "/" not in entry_id or not call.caller.sees_project(project):
        return None
    items = await load_searched_messages(call.tx, project, [entry_id])
    if not items:
        return None
    item = items[0]
    return {
        "id": item.id,
        "title": item.title,
        "type": item.type,
        "status": item.status,
        "project": project,
        "created": iso(item.created_at),
        "updated": iso(item.updated_at),
        "author": item.author,
        "content": item.text,
        "links": {"session_id": entry_id.partition("/")[0]},
    }


async def find_message(call: Call, project: str, message_id: str) -> dict[str, Any] | None:
    """A message that the caller may see."""
    if not call.caller.sees_project(project):
        return None
    reader = await identify_reader(call)
    rows = await store.find_messages_by_id(call.tx, project, message_id, reader.list_audiences())
    if len(rows) != 1:
        return None
    row = rows[0]
    return {
        "id": row["id"],
        "title": row["purpose"],
        "type": row["message_type"],
        "status": "active",
        "project": project,
        "created": iso(row["at"]),
        "author": row["sender"],
        "content": row["content"],
        "links": {
            "session_id": row["session"],
            "sequence": row["sequence"],
            "visibility": model.visibility_of_audience(row["audience"]),
        },
    }


async def _close_sessions(tx: Tx, batch: Sweep) -> int:
    """Store the closing, audit it and emit its event; reads show idle sessions as closed already."""
    project, now = batch.project, batch.now
    closed = await store.close_idle_session_rows(tx, project, batch.before, now, batch.limit)
    for row in closed:
        await events.insert_audit_row(
            tx, project, now, "close_session", "ok", "idle", access.OPERATOR, row["id"]
        )
    if closed:
        await events.append_events(
            tx,
            [
                SESSION_CLOSED.create_event(
                    project,
                    now,
                    "idle",
                    {"session_id": row["id"], "status": "completed"},
                    {"session_id": row["id"]},
                )
                for row in closed
            ],
        )
    return len(closed)


async def _count_sessions(tx: Tx, batch: Sweep) -> int:
    return await store.count_idle_sessions(tx, batch.project, batch.before)


IDLE_SESSIONS = RetentionRule(
    kind="idle_blackboards",
    find_before=model.idle_cutoff,
    find_due=store.list_some_idle_projects,
    sweep=_close_sessions,
    count=_count_sessions,
)
OLD_READERS = delete_from_table(
    "context_reader",
    kind="blackboard_readers",
    key=("blackboard", "session_project", "session"),
    setting="session_days",
)
