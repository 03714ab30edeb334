"""Threads as a person reads them: the list, and one thread with the receipts of every recipient.

Nothing is marked as delivered here: memory_acknowledge_message does that. An agent sees the threads that it takes part in,
an admin of the project all of them.
"""

from collections.abc import Sequence
from typing import Annotated

import msgspec
from pydantic import Field

from commonplace import errors
from commonplace.access import ALL_PROJECTS
from commonplace.arguments import AgentName
from commonplace.call import Call
from commonplace.clock import iso
from commonplace.operation import Reply, operation
from commonplace.project import is_project_admin
from commonplace.rooms.messages import model
from commonplace.shortening import shorten_line
from commonplace.store.database import Row, Tx

ThreadLimit = Annotated[int, Field(ge=1, le=100)]
ThreadCursor = Annotated[
    str,
    Field(
        max_length=100,
        pattern=r"^\d{1,17}-\w{1,64}$",
        description="Where to go on: `next_cursor` of the previous reply.",
    ),
]
ThreadId = Annotated[
    str, Field(min_length=1, max_length=64, description="The thread, from memory_list_threads.")
]
_SNIPPET_CHARACTERS = 140
_WINDOW_MESSAGES = 500
"""One page of threads is grouped out of this many messages, so that its cost does not grow with the mail."""
_MAX_THREAD_MESSAGES = 500
_COLUMNS = (
    "message.project, message.id, message.thread, message.sender, message.addressed_to, message.subject, message.body,"
    " message.priority, message.category, message.require_human, message.reply_to, message.created_at"
)
_IS_VISIBLE = (
    " and ($3 = 1 or message.sender = $2 or exists (select 1 from delivery where delivery.project = $1"
    "  and delivery.message = message.id and delivery.agent = $2))"
)


class Thread(Reply):
    thread_id: str
    project: str
    title: str
    last_at: str
    last_from: str
    snippet: str = ""
    participants: list[str] = []
    messages: int = 0
    unread: int = 0
    is_urgent: bool = False
    require_human: bool = False


class ThreadPage(Reply):
    count: int
    threads: list[Thread]
    next_cursor: str = ""


class Receipt(Reply):
    agent: str
    status: str
    at: str
    note: str = ""


class ThreadMessage(Reply):
    id: str
    sender: str = msgspec.field(name="from")
    to: str
    message: str
    priority: str
    category: str
    created: str
    subject: str = ""
    reply_to: str = ""
    require_human: bool = False
    receipts: list[Receipt] = []


class ThreadReply(Reply):
    thread_id: str
    project: str
    title: str
    messages: list[ThreadMessage]


@operation("memory_list_threads", role="readonly", session="optional", example={"project": "shop"})
async def list_threads(
    call: Call,
    project: str,
    agent: Annotated[
        AgentName | None, Field(description="Only threads that this agent takes part in.")
    ] = None,
    limit: ThreadLimit = 50,
    cursor: ThreadCursor | None = None,
) -> ThreadPage:
    """List the threads of a project that the caller may read, the latest first."""
    del project
    reader = _name_reader(call)
    before = _parse_cursor(cursor)
    rows = await _list_latest_messages(call.tx, call.project, reader, await _reads_all(call), agent, before)
    threads = _group_threads(rows, reader, limit)
    last = rows[-1] if rows and len(rows) == _WINDOW_MESSAGES else None
    return ThreadPage(
        count=len(threads),
        threads=threads,
        next_cursor=f"{last['created_at']}-{last['id']}" if last else "",
    )


@operation(
    "memory_read_thread",
    role="readonly",
    session="optional",
    example={"project": "shop", "thread_id": "msg_1"},
)
async def read_thread(call: Call, project: str, thread_id: ThreadId) -> ThreadReply:
    """Read one thread, oldest message first, with the status of each recipient."""
    del project
    rows = await _list_messages_of_thread(
        call.tx, call.project, thread_id, _name_reader(call), await _reads_all(call)
    )
    if not rows:
        raise errors.NotFound(
            f"There is no thread '{thread_id}' that you take part in.",
            hint="Call memory_list_threads for their ids.",
        )
    receipts: dict[str, list[Receipt]] = {}
    for row in await _list_receipts(call.tx, call.project, [row["id"] for row in rows]):
        receipts.setdefault(row["message"], []).append(_build_receipt(row))
    return ThreadReply(
        thread_id=thread_id,
        project=call.project,
        title=model.message_title(rows[0]),
        messages=[_build_message(row, receipts.get(row["id"], [])) for row in rows],
    )


def _name_reader(call: Call) -> str:
    return "" if call.is_anonymous else call.agent


async def _reads_all(call: Call) -> bool:
    """Admins of the project do, and the person at this machine while keys are off."""
    if not call.settings.auth_on and ALL_PROJECTS in call.caller.projects:
        return True
    return await is_project_admin(call.tx, call.project, call.caller, _name_reader(call))


def _parse_cursor(cursor: str | None) -> tuple[int, str]:
    if cursor is None:
        return 2**62, ""
    at, _, message = cursor.partition("-")
    return int(at), message


def _group_threads(rows: Sequence[Row], reader: str, limit: int) -> list[Thread]:
    """The rows are newest first, so the first of a thread is its latest message and the last one names it."""
    rows_by_thread: dict[str, list[Row]] = {}
    for row in rows:
        rows_by_thread.setdefault(row["thread"], []).append(row)
    return [_build_thread(found, reader) for found in list(rows_by_thread.values())[:limit]]


def _build_thread(rows: Sequence[Row], reader: str) -> Thread:
    latest = rows[0]
    names = dict.fromkeys(name for row in reversed(rows) for name in (row["sender"], row["addressed_to"]))
    return Thread(
        thread_id=latest["thread"],
        project=latest["project"],
        title=model.message_title(rows[-1]),
        last_at=iso(latest["created_at"]),
        last_from=latest["sender"],
        snippet=shorten_line(latest["body"], _SNIPPET_CHARACTERS),
        participants=[name for name in names if name],
        messages=len(rows),
        unread=sum(row["own_state"] == 0 for row in rows) if reader else 0,
        is_urgent=any(row["priority"] == "urgent" for row in rows),
        require_human=any(row["require_human"] for row in rows),
    )


def _build_message(row: Row, receipts: list[Receipt]) -> ThreadMessage:
    return ThreadMessage(
        id=row["id"],
        sender=row["sender"],
        to=row["addressed_to"],
        message=row["body"],
        priority=row["priority"],
        category=row["category"],
        created=iso(row["created_at"]),
        subject=row["subject"],
        reply_to=row["reply_to"],
        require_human=bool(row["require_human"]),
        receipts=receipts,
    )


def _build_receipt(row: Row) -> Receipt:
    return Receipt(
        agent=row["agent"],
        status=model.MESSAGE_STATUSES[row["state"]],
        at=iso(row["changed_at"]),
        note=row["note"],
    )


async def _list_latest_messages(
    tx: Tx, project: str, reader: str, reads_all: bool, agent: str | None, before: tuple[int, str]
) -> Sequence[Row]:
    """Messages before a position, newest first, with the state of the reader's own delivery."""
    return await tx.all(
        f"select {_COLUMNS}, (select delivery.state from delivery where delivery.project = $1"
        "  and delivery.message = message.id and delivery.agent = $2) as own_state from message"
        f" where message.project = $1 and (message.created_at, message.id) < ($5, $6){_IS_VISIBLE}"
        " and (cast($4 as text) is null or message.sender = $4 or exists (select 1 from delivery"
        "  where delivery.project = $1 and delivery.message = message.id and delivery.agent = $4))"
        " order by message.created_at desc, message.id desc limit $7",
        project,
        reader,
        int(reads_all),
        agent,
        *before,
        _WINDOW_MESSAGES,
    )


async def _list_messages_of_thread(
    tx: Tx, project: str, thread: str, reader: str, reads_all: bool
) -> Sequence[Row]:
    return await tx.all(
        f"select {_COLUMNS} from message where message.project = $1 and message.thread = $4{_IS_VISIBLE}"
        " order by message.created_at, message.id limit $5",
        project,
        reader,
        int(reads_all),
        thread,
        _MAX_THREAD_MESSAGES,
    )


async def _list_receipts(tx: Tx, project: str, messages: Sequence[str]) -> Sequence[Row]:
    return await tx.all(
        "select message, agent, state, note, changed_at from delivery where project = $1 and message = any($2)"
        " order by message, agent",
        project,
        list(messages),
    )
