"""What mail contributes: sections of the boot pack, resource, events, finder, search source and retention."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from commonplace import errors
from commonplace.agent_names import AgentRename
from commonplace.arguments import AgentName
from commonplace.audience import load_event_reader
from commonplace.boot import BootSection, StartingSession
from commonplace.call import Call
from commonplace.clock import DAY, format_age
from commonplace.events import EventType
from commonplace.identity.names import describe_author, load_name_owners
from commonplace.operation import Reply, operation
from commonplace.project import is_project_admin
from commonplace.resource import Resource
from commonplace.retention import RetentionRule, Sweep, delete_from_table
from commonplace.rooms.messages import model, store
from commonplace.rooms.messages.model import InboxMessage, InboxPage, MessageHeader
from commonplace.search.index import MESSAGE_KIND, IndexEntry
from commonplace.search.refresh import entry_from_item, refresh_items, request_refresh
from commonplace.search.source import SearchItem, SearchSource, reader_name
from commonplace.shortening import shorten_line
from commonplace.store import ids
from commonplace.store.database import Row, Tx

MAX_BOOT_HEADERS = 5
_MAX_QUESTIONS = 5
_MAX_QUESTION_CHARACTERS = 120
_MAX_INBOX_HEADERS = 50
_MAX_REFRESHED_AT_ONCE = 100


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
    include_delivered: Annotated[bool, Field(description="Also messages that you have read.")] = False,
    limit: model.InboxLimit = 20,
    cursor: Annotated[
        model.InboxCursor | None, Field(description="Where to go on: `next_cursor` of the previous reply.")
    ] = None,
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
        after=model.parse_inbox_cursor(cursor) if cursor else None,
    )
    page = model.truncate_page(rows[:limit])
    return AgentInbox(
        agent=owner,
        count=len(page),
        unread=await store.count_unread_messages(call.tx, project, owner),
        messages=await show_messages(call, page, with_body=True),
        next_cursor=model.format_inbox_cursor(page[-1]) if len(page) < len(rows) else "",
    )


async def show_messages(call: Call, rows: Sequence[Row], *, with_body: bool) -> list[InboxMessage]:
    messages = [InboxMessage.from_row(row, call.now, with_body=with_body) for row in rows]
    if call.settings.auth_on and messages:
        owners = await load_name_owners(call.tx, call.project, call.now)
        for message in messages:
            message.by = describe_author(owners, message.sender)
    return messages


async def _require_reader(call: Call, agent: str) -> None:
    if not (await load_event_reader(call)).can_see_audience(f"inbox:{agent}"):
        raise errors.Forbidden(
            f"Only '{agent}' or an admin may read this inbox.",
            hint=f"Start a session as '{agent}', or use the key that is bound to it.",
        )


INBOX = Resource("inbox://{project}/{agent}", "Unread mail of an agent", read_inbox)

MESSAGE_SENT = EventType("MessageSent", INBOX)
MESSAGE_UPDATED = EventType("MessageUpdated", INBOX)
MESSAGE_CLAIMED = EventType("MessageClaimed", INBOX)


class UnansweredQuestion(Reply):
    message_id: str
    to: str
    question: str
    age: str


async def summarize_unread_mail(call: Call, start: StartingSession) -> dict[str, Any]:
    unread = await store.count_unread_messages(call.tx, start.project, start.agent)
    if not unread:
        return {"unread": 0, "urgent": 0}
    rows = await store.list_inbox_messages(
        call.tx, start.project, start.agent, limit=start.scale_limit(MAX_BOOT_HEADERS)
    )
    return {
        "unread": unread,
        "urgent": await store.count_unread_messages(call.tx, start.project, start.agent, urgent_only=True),
        "top": [model.MessageHeader.from_row(row, call.now) for row in rows],
    }


async def list_unanswered_questions(call: Call, start: StartingSession) -> list[UnansweredQuestion]:
    """Questions of the last day: who has waited longer asks again."""
    limit = start.scale_limit(_MAX_QUESTIONS)
    rows = await store.list_unanswered_questions(call.tx, start.project, start.agent, call.now - DAY, limit)
    return [
        UnansweredQuestion(
            message_id=row["id"],
            to=row["addressed_to"],
            question=shorten_line(row["subject"] or row["body"], _MAX_QUESTION_CHARACTERS),
            age=format_age(row["created_at"], call.now),
        )
        for row in rows
    ]


MESSAGES_SECTION = BootSection("messages", 20, summarize_unread_mail)
AWAITING_REPLY_SECTION = BootSection("awaiting_reply", 28, list_unanswered_questions)


async def load_searched_messages(tx: Tx, project: str, ids: Sequence[str]) -> list[SearchItem]:
    rows = [row for row in await store.load_messages(tx, project, ids) if row["body"]]
    private = [row["id"] for row in rows if row["addressed_to"] != model.ALL_AGENTS]
    deliveries = await store.list_deliveries_of_messages(tx, project, private)
    return [
        _build_search_item(row, [delivery for delivery in deliveries if delivery["message"] == row["id"]])
        for row in rows
    ]


def _build_search_item(row: Row, deliveries: Sequence[Row]) -> SearchItem:
    is_public = row["addressed_to"] == model.ALL_AGENTS
    earliest = min((delivery["state"] for delivery in deliveries), default=0)
    return SearchItem(
        id=row["id"],
        title=model.message_title(row),
        text=row["body"],
        type="message",
        status="sent" if is_public else model.MESSAGE_STATUSES[earliest],
        author=row["sender"],
        tags=(row["category"], row["priority"]),
        created_at=row["created_at"],
        updated_at=row["created_at"],
        changed_at=row["created_at"],
        readers=() if is_public else _list_readers(row, deliveries),
        details={"to": row["addressed_to"]},
    )


def build_new_entry(row: Row, agents: Sequence[str]) -> IndexEntry:
    """The index entry of a message that nobody has read yet."""
    deliveries = [{"message": row["id"], "agent": agent, "state": 0} for agent in agents]
    return entry_from_item(MESSAGE_KIND, row["project"], _build_search_item(row, deliveries))


def _list_readers(row: Row, deliveries: Sequence[Row]) -> tuple[str, ...]:
    readers = [reader_name(row["sender_project"], row["sender"])]
    readers += [reader_name(row["project"], delivery["agent"]) for delivery in deliveries]
    return tuple(dict.fromkeys(readers))


SEARCH_SOURCE = SearchSource(
    kind=MESSAGE_KIND, load=load_searched_messages, table="message", names=("mail",), bonus=-0.75
)


async def find_message(call: Call, project: str, id_prefix: str) -> dict[str, Any] | None:
    match = await ids.find_ids_by_prefix(call.tx, "message", [project], id_prefix)
    row = await store.load_message(call.tx, *match[0]) if match else None
    if row is None:
        return None
    deliveries = await store.list_deliveries(call.tx, project, row["id"])
    if not await _can_read_message(call, row, deliveries):
        return None
    return model.render_message_document(row, deliveries)


async def _can_read_message(call: Call, row: Row, deliveries: Sequence[Row]) -> bool:
    """A broadcast is readable by everyone in the project, mail by its sender, its recipients and the project's admins."""
    if row["addressed_to"] == model.ALL_AGENTS or call.name_reader(row["project"]) in _list_readers(
        row, deliveries
    ):
        return True
    return await is_project_admin(call.tx, row["project"], call.caller, call.agent)


async def _refresh_deliveries(tx: Tx, batch: Sweep, rows: Sequence[Row]) -> None:
    await _refresh(tx, batch, [row["message"] for row in rows])


async def _delete_messages(tx: Tx, batch: Sweep) -> int:
    ids = await store.delete_delivered_messages(tx, batch.project, batch.before, batch.limit)
    await _refresh(tx, batch, ids)
    return len(ids)


async def _count_messages(tx: Tx, batch: Sweep) -> int:
    return await store.count_delivered_messages(tx, batch.project, batch.before)


async def _refresh(tx: Tx, batch: Sweep, ids: Sequence[str]) -> None:
    if ids:
        await refresh_items(tx, SEARCH_SOURCE, batch.project, list(dict.fromkeys(ids)))


FINISHED_DELIVERIES = delete_from_table(
    "delivery",
    kind="finished_deliveries",
    key=("message", "agent"),
    old=f"state >= {store.COMPLETED} and changed_at < $2",
    setting="message_days",
    after=_refresh_deliveries,
)
FINISHED_MESSAGES = RetentionRule(
    kind="finished_messages",
    setting="message_days",
    find_due=store.list_some_projects_with_delivered_messages,
    sweep=_delete_messages,
    count=_count_messages,
)


async def move_mail(tx: Tx, rename: AgentRename) -> None:
    """Mail of an agent that gets another name: what it received and what it sent."""
    if rename.moves_agent:
        moved = [*await store.move_deliveries(tx, rename), *await store.move_sent_messages(tx, rename)]
        await _refresh_readers(tx, moved)


async def _refresh_readers(tx: Tx, moved: Sequence[Row]) -> None:
    """Let the search index follow: at once for a few messages, in the background for many."""
    messages_by_project: dict[str, dict[str, None]] = defaultdict(dict)
    for row in moved:
        messages_by_project[row["project"]][row["id"]] = None
    for project in sorted(messages_by_project):
        found = list(messages_by_project[project])
        await refresh_items(tx, SEARCH_SOURCE, project, found[:_MAX_REFRESHED_AT_ONCE])
        if len(found) > _MAX_REFRESHED_AT_ONCE:
            await request_refresh(tx, project, MESSAGE_KIND)
