"""A message, the statuses of a delivery, and the replies that show them. SQL is in `store.py`."""

import hashlib
import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal, get_args

import msgspec
from pydantic import Field

from commonplace import errors
from commonplace.clock import MINUTE, format_age, iso
from commonplace.identity.names import By
from commonplace.notices import Notice
from commonplace.operation import Reply
from commonplace.shortening import shorten_line, shorten_text
from commonplace.store.database import Row

ALL_AGENTS = "*"
PROJECT_ADMINS = "@admins"
DUPLICATE_WINDOW = 5 * MINUTE
LIVE_SUBSCRIBER_WINDOW = 5 * MINUTE
MAX_PUSHED_CHAIN_DEPTH = 12
_MAX_PAGE_CHARACTERS = 100_000
_THREAD_CURSOR = re.compile(r"(\d{1,18})\.(\d{1,18})\.(\w+)")
_MAX_TITLE_CHARACTERS = 100
_MAX_THREAD_SUBJECT_CHARACTERS = 40
_MAX_SHORT_CHARACTERS = 200
_MAX_SHORT_LINES = 2
_MAX_OFFLINE_NAMED = 20
_MAX_LEFT_OUT_NAMED = 5

MessagePriority = Literal["urgent", "normal", "low"]
MessageCategory = Literal["contract", "task", "question", "info", "review", "blocker"]
MessageStatus = Literal["pending", "delivered", "received", "completed", "failed"]
RecipientName = Annotated[
    str, Field(max_length=64, pattern=r"^(\*|@admins|\w[\w.@:+-]*)$", description="Agent, `*` or `@admins`.")
]
MessageBody = Annotated[str, Field(min_length=1, max_length=50_000)]
MessageSubject = Annotated[str, Field(max_length=200)]
MessageNote = Annotated[str, Field(max_length=2000)]
IdempotencyKey = Annotated[
    str, Field(min_length=1, max_length=100, description="Same key, same reply for 24 h.")
]
"""`idempotency.py` takes it before the operation runs."""
InboxCursor = Annotated[str, Field(max_length=60)]
InboxLimit = Annotated[int, Field(ge=1, le=100)]

MESSAGE_STATUSES: tuple[MessageStatus, ...] = get_args(MessageStatus)
PRIORITY_RANKS = {priority: rank for rank, priority in enumerate(get_args(MessagePriority))}


class MessageDraft(msgspec.Struct, frozen=True):
    """A message before its recipients are resolved."""

    project: str
    sender: str
    sender_project: str
    to: str
    body: str
    subject: str
    priority: MessagePriority
    category: MessageCategory
    require_human: bool
    reply_to: str = ""
    thread: str = ""
    chain_depth: int = 0
    parent_sender: str = ""
    """The agent of the recipients' project whose message this replies to."""
    thread_subject: str = ""

    @property
    def fingerprint(self) -> str:
        """Equal for messages that count as duplicates of each other."""
        identity = (self.sender_project, self.sender, self.to, self.subject, self.body, self.reply_to)
        return hashlib.sha256(msgspec.json.encode(identity)).hexdigest()[:32]

    @property
    def is_pushed(self) -> bool:
        return self.chain_depth <= MAX_PUSHED_CHAIN_DEPTH

    def with_parent(self, parent: Row) -> "MessageDraft":
        depth = parent["chain_depth"] + 1
        return msgspec.structs.replace(
            self,
            reply_to=parent["id"],
            thread=parent["thread"],
            chain_depth=depth,
            parent_sender=parent["sender"] if parent["sender_project"] == self.project else "",
            thread_subject=parent["subject"] or parent["first_subject"] or "",
        )

    def with_recipient(self, to: str) -> "MessageDraft":
        return msgspec.structs.replace(self, to=to)

    def make_notice(self, agent: str, message: str) -> Notice:
        """Tell this recipient what the message is about. Who wrote its parent also knows the thread's subject."""
        is_answer = agent == self.parent_sender
        subject = self.subject.strip()
        if not subject and is_answer and self.thread_subject:
            subject = f"Re: {shorten_line(self.thread_subject, _MAX_THREAD_SUBJECT_CHARACTERS)}"
        text = f"{subject}: {self.body}" if subject else self.body
        is_short = len(self.body) <= _MAX_SHORT_CHARACTERS and self.body.count("\n") < _MAX_SHORT_LINES
        body = {
            "priority": self.priority,
            "sender": self.sender,
            "title": shorten_line(self.subject.strip() or text, _MAX_TITLE_CHARACTERS),
            "is_answer": is_answer,
            **({"text": text} if is_short else {}),
        }
        return Notice("mail", body, message)


class SentMessage(Reply):
    status: str
    message_id: str
    to: str
    recipients: int
    to_project: str = ""
    """If it is another one than the sender's."""
    thread_id: str = ""
    """If the message does not begin its thread."""
    chain_depth: int = 0
    live_subscribers: int = 0
    duplicate: bool = False
    offline: list[str] = []
    """Recipients without a live session; they get the message when they start one."""
    not_addressed: int = 0
    """Agents of the project that a broadcast left out: their session is gone and nothing says that they come back."""
    not_addressed_names: list[str] = []
    """The first of them."""
    warning: str = ""

    @classmethod
    def from_row(
        cls,
        row: Row,
        sender_project: str,
        *,
        live_sessions: int = 0,
        duplicate: bool = False,
        offline: Sequence[str] = (),
        not_addressed: Sequence[str] = (),
        is_stranger: bool = False,
        lives_in: str = "",
    ) -> "SentMessage":
        return cls(
            status="queued",
            message_id=row["id"],
            to=row["addressed_to"],
            to_project="" if row["project"] == sender_project else row["project"],
            thread_id="" if row["thread"] == row["id"] else row["thread"],
            recipients=row["recipients"],
            chain_depth=row["chain_depth"],
            live_subscribers=live_sessions,
            duplicate=duplicate,
            offline=list(offline[:_MAX_OFFLINE_NAMED]),
            not_addressed=len(not_addressed),
            not_addressed_names=[f"{name} (offline)" for name in not_addressed[:_MAX_LEFT_OUT_NAMED]],
            warning=_delivery_warning(row, is_stranger=is_stranger, lives_in=lives_in),
        )


def _delivery_warning(row: Row, *, is_stranger: bool, lives_in: str) -> str:
    if is_stranger:
        name = row["addressed_to"]
        known = f" '{name}' is known in '{lives_in}': pass to_project='{lives_in}'." if lives_in else ""
        return f"No agent '{name}' has been in this project yet; one that starts there gets it.{known}"
    if not row["recipients"]:
        return "No recipients: no other agent of the project is alive or known to come back."
    if row["chain_depth"] > MAX_PUSHED_CHAIN_DEPTH:
        return f"Stored but not pushed: the reply chain is deeper than {MAX_PUSHED_CHAIN_DEPTH} messages."
    return ""


class InboxMessage(Reply):
    id: str
    sender: str = msgspec.field(name="from")
    status: str
    created: str
    age: str
    from_project: str = ""
    """If it is another one than the reader's."""
    category: MessageCategory = "info"
    priority: MessagePriority = "normal"
    thread_id: str = ""
    """If the message does not begin its thread."""
    chain_depth: int = 0
    to: str = ""
    subject: str = ""
    message: str = ""
    reply_to: str = ""
    require_human: bool = False
    claimed_by: str = ""
    by: By | None = None
    """Who the sender is, where keys tell."""

    @classmethod
    def from_row(cls, row: Row, now: int, *, with_body: bool) -> "InboxMessage":
        return cls(
            id=row["id"],
            sender=row["sender"],
            from_project="" if row["sender_project"] == row["project"] else row["sender_project"],
            category=row["category"],
            priority=row["priority"],
            status=MESSAGE_STATUSES[row["state"]],
            created=iso(row["created_at"]),
            thread_id="" if row["thread"] == row["id"] else row["thread"],
            chain_depth=row["chain_depth"],
            age=format_age(row["created_at"], now),
            to=row["addressed_to"]
            if row.get("is_own") or row["addressed_to"] in (ALL_AGENTS, PROJECT_ADMINS)
            else "",
            subject=row["subject"] if with_body else message_title(row),
            message=row["body"] if with_body else "",
            reply_to=row["reply_to"],
            require_human=bool(row["require_human"]),
            claimed_by=row["owner"] or "",
        )


class InboxPage(Reply):
    count: int
    unread: int
    messages: list[InboxMessage]
    next_cursor: str = ""
    message: str = ""
    """Why a wait ended without mail."""


class MessageStatusChange(Reply):
    status: str
    message_id: str


class MessageClaim(Reply):
    claimed: bool
    owner: str


class MessageHeader(Reply, kw_only=True):
    id: str
    sender: str = msgspec.field(name="from")
    subject: str
    priority: MessagePriority = "normal"
    category: MessageCategory = "info"
    age: str

    @classmethod
    def from_row(cls, row: Row, now: int) -> "MessageHeader":
        return cls(
            id=row["id"],
            sender=row["sender"],
            subject=message_title(row),
            priority=row["priority"],
            category=row["category"],
            age=format_age(row["created_at"], now),
        )


def message_title(row: Row) -> str:
    """The subject, or the beginning of the body."""
    text: str = row["subject"] or " ".join(row["body"][: 2 * _MAX_TITLE_CHARACTERS].split())
    return shorten_text(text, _MAX_TITLE_CHARACTERS)


def truncate_page(rows: Sequence[Row]) -> Sequence[Row]:
    """Keep the first messages whose bodies fit in one reply, at least one."""
    remaining = _MAX_PAGE_CHARACTERS
    for index, row in enumerate(rows):
        remaining -= len(row["body"])
        if remaining < 0 and index:
            return rows[:index]
    return rows


def is_unread_message(row: Row) -> bool:
    """Is it new to its reader? A message that the reader sent is not."""
    return row["state"] == MESSAGE_STATUSES.index("pending") and not row.get("is_own")


def with_delivered_state(row: Row) -> dict[str, Any]:
    return dict(row) | ({"state": MESSAGE_STATUSES.index("delivered")} if is_unread_message(row) else {})


def format_inbox_cursor(row: Row) -> str:
    return f"{row['rank']}.{row['n']}"


def parse_inbox_cursor(cursor: str) -> tuple[int, int]:
    rank, _, n = cursor.partition(".")
    if not (rank.isdecimal() and n.isdecimal() and len(cursor) < 20):  # noqa: PLR2004 - within 64 bits
        raise _invalid_cursor()
    return int(rank), int(n)


def format_thread_cursor(row: Row) -> str:
    return f"{row['created_at']}.{row['n']}.{row['id']}"


def parse_thread_cursor(cursor: str) -> tuple[int, int, str]:
    match = _THREAD_CURSOR.fullmatch(cursor)
    if match is None:
        raise _invalid_cursor()
    return int(match[1]), int(match[2]), match[3]


def _invalid_cursor() -> errors.Invalid:
    return errors.Invalid(
        "Invalid `cursor`.", hint="Pass next_cursor of the previous memory_get_messages reply."
    )


def render_message_document(row: Row, deliveries: Sequence[Row]) -> dict[str, Any]:
    """Render a message for memory_get_by_id. Its status is the earliest among its recipients."""
    earliest = min((delivery["state"] for delivery in deliveries), default=0)
    recipients = [
        {
            "agent": delivery["agent"],
            "status": MESSAGE_STATUSES[delivery["state"]],
            "at": iso(delivery["changed_at"]),
            "note": delivery["note"],
        }
        for delivery in deliveries
    ]
    return {
        "id": row["id"],
        "title": message_title(row),
        "type": "message",
        "status": MESSAGE_STATUSES[earliest],
        "project": row["project"],
        "tags": [row["category"], row["priority"]],
        "created": iso(row["created_at"]),
        "updated": iso(max((delivery["changed_at"] for delivery in deliveries), default=row["created_at"])),
        "author": row["sender"],
        "content": row["body"],
        "versions": [],
        "links": {"thread_id": row["thread"], "reply_to": row["reply_to"], "recipients": recipients},
    }
