"""A message, its states, and how replies show it."""

import hashlib
from collections.abc import Sequence
from typing import Annotated, Any, Literal, get_args

import msgspec
from pydantic import Field

from commonplace import errors
from commonplace.clock import DAY, MINUTE, age, iso
from commonplace.operation import Reply
from commonplace.store.database import Row

EVERYONE = "*"
ADMINS = "@admins"
SAME_WITHIN = 5 * MINUTE
LIVE_WITHIN = 5 * MINUTE
KEPT_FOR = 30 * DAY
DEEPEST_CHAIN = 12
_PAGE_CHARACTERS = 100_000
_TITLE = 100

Priority = Literal["urgent", "normal", "low"]
Category = Literal["contract", "task", "question", "info", "review", "blocker"]
Status = Literal["pending", "delivered", "received", "completed", "failed"]
Recipient = Annotated[str, Field(max_length=64, pattern=r"^(\*|@admins|\w[\w.@:+-]*)$")]
Body = Annotated[str, Field(min_length=1, max_length=50_000)]
Subject = Annotated[str, Field(max_length=200)]
Note = Annotated[str, Field(max_length=2000)]
Key = Annotated[str, Field(min_length=1, max_length=200)]
Cursor = Annotated[str, Field(max_length=40)]
Limit = Annotated[int, Field(ge=1, le=100)]
WaitSeconds = Annotated[int, Field(ge=0, le=50)]

STATUSES: tuple[Status, ...] = get_args(Status)
RANKS = {priority: rank for rank, priority in enumerate(get_args(Priority))}


class Draft(msgspec.Struct, frozen=True):
    """A message as it was written, before it is known who gets it."""

    project: str
    sender: str
    sender_project: str
    to: str
    body: str
    subject: str
    priority: Priority
    category: Category
    require_human: bool
    idempotency_key: str | None
    reply_to: str = ""
    thread: str = ""
    chain_depth: int = 0

    @property
    def fingerprint(self) -> str:
        """Equal for what a person would call the same message again."""
        same = (self.sender_project, self.sender, self.to, self.subject, self.body, self.reply_to)
        return hashlib.sha256(msgspec.json.encode(same)).hexdigest()[:32]

    @property
    def pushed(self) -> bool:
        return self.chain_depth <= DEEPEST_CHAIN

    def in_reply_to(self, parent: Row) -> "Draft":
        depth = parent["chain_depth"] + 1
        return msgspec.structs.replace(
            self, reply_to=parent["id"], thread=parent["thread"], chain_depth=depth
        )

    def addressed(self, to: str) -> "Draft":
        return msgspec.structs.replace(self, to=to)


class Sent(Reply):
    status: str
    message_id: str
    to: str
    to_project: str
    thread_id: str
    recipients: int
    chain_depth: int
    live_subscribers: int
    duplicate: bool = False
    warning: str = ""

    @classmethod
    def of(cls, row: Row, *, live: int, duplicate: bool = False) -> "Sent":
        return cls(
            status="queued",
            message_id=row["id"],
            to=row["addressed_to"],
            to_project=row["project"],
            thread_id=row["thread"],
            recipients=row["recipients"],
            chain_depth=row["chain_depth"],
            live_subscribers=live,
            duplicate=duplicate,
            warning=_warning(row),
        )


def _warning(row: Row) -> str:
    if not row["recipients"]:
        return "Nobody else is there, so nobody gets this."
    if row["chain_depth"] > DEEPEST_CHAIN:
        return f"Stored but not pushed: the chain of replies is deeper than {DEEPEST_CHAIN}."
    return ""


class Mail(Reply):
    id: str
    sender: str = msgspec.field(name="from")
    from_project: str
    category: str
    priority: str
    status: str
    created: str
    thread_id: str
    chain_depth: int
    age: str
    to: str = ""
    subject: str = ""
    message: str = ""
    reply_to: str = ""
    require_human: bool = False
    claimed_by: str = ""

    @classmethod
    def of(cls, row: Row, now: int, *, with_body: bool) -> "Mail":
        return cls(
            id=row["id"],
            sender=row["sender"],
            from_project=row["sender_project"],
            category=row["category"],
            priority=row["priority"],
            status=STATUSES[row["state"]],
            created=iso(row["created_at"]),
            thread_id=row["thread"],
            chain_depth=row["chain_depth"],
            age=age(row["created_at"], now),
            to=row["addressed_to"] if row["addressed_to"] in (EVERYONE, ADMINS) else "",
            subject=row["subject"],
            message=row["body"] if with_body else "",
            reply_to=row["reply_to"],
            require_human=bool(row["require_human"]),
            claimed_by=row["owner"] or "",
        )


class Inbox(Reply):
    count: int
    unread: int
    messages: list[Mail] = []
    next_cursor: str = ""


class Changed(Reply):
    status: str
    message_id: str
    note: str = ""


class Claim(Reply):
    claimed: bool
    owner: str


class Header(Reply):
    id: str
    sender: str = msgspec.field(name="from")
    subject: str
    priority: str
    category: str
    age: str

    @classmethod
    def of(cls, row: Row, now: int) -> "Header":
        return cls(
            id=row["id"],
            sender=row["sender"],
            subject=title(row),
            priority=row["priority"],
            category=row["category"],
            age=age(row["created_at"], now),
        )


def title(row: Row) -> str:
    """The subject, else how the text begins."""
    text: str = row["subject"] or " ".join(row["body"][: 2 * _TITLE].split())
    return text if len(text) <= _TITLE else text[: _TITLE - 1].rstrip() + "…"


def one_page(rows: Sequence[Row]) -> Sequence[Row]:
    """As many as a reader can take in at once, at least one."""
    room = _PAGE_CHARACTERS
    for place, row in enumerate(rows):
        room -= len(row["body"])
        if room < 0 and place:
            return rows[:place]
    return rows


def is_unread(row: Row) -> bool:
    return bool(row["state"] == STATUSES.index("pending"))


def as_delivered(row: Row) -> dict[str, Any]:
    return dict(row) | ({"state": STATUSES.index("delivered")} if is_unread(row) else {})


def cursor_after(row: Row) -> str:
    return f"{row['rank']}.{row['n']}"


def read_cursor(cursor: str) -> tuple[int, int]:
    rank, _, n = cursor.partition(".")
    if not (rank.isdecimal() and n.isdecimal() and len(cursor) < 20):  # noqa: PLR2004 - within 64 bits
        raise errors.Invalid("This cursor is not one of ours.", hint="Give next_cursor of the reply before.")
    return int(rank), int(n)


def found(row: Row, deliveries: Sequence[Row]) -> dict[str, Any]:
    """A message as memory_get_by_id shows it; its status is that of the slowest recipient."""
    slowest = min((each["state"] for each in deliveries), default=0)
    copies = [
        {
            "agent": each["agent"],
            "status": STATUSES[each["state"]],
            "at": iso(each["changed_at"]),
            "note": each["note"],
        }
        for each in deliveries
    ]
    return {
        "id": row["id"],
        "title": title(row),
        "type": "message",
        "status": STATUSES[slowest],
        "project": row["project"],
        "tags": [row["category"], row["priority"]],
        "created": iso(row["created_at"]),
        "updated": iso(max((each["changed_at"] for each in deliveries), default=row["created_at"])),
        "author": row["sender"],
        "content": row["body"],
        "versions": [],
        "links": {"thread_id": row["thread"], "reply_to": row["reply_to"], "recipients": copies},
    }
