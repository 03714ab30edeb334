"""Sessions and messages of a blackboard: arguments, replies, and what can be decided without a store."""

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from pydantic import AfterValidator, Field

from commonplace import errors
from commonplace.clock import HOUR, iso, iso_exact
from commonplace.config import Settings
from commonplace.operation import Reply
from commonplace.rooms.blackboard.reader import visibility_of
from commonplace.store.database import Row
from commonplace.store.ids import SHORTEST

METADATA_CHARACTERS = 10_000
EVER = 2**62

_MESSAGE_ID = len("msg_") + 12
_DECISION = re.compile(r"\W*(decision|decided)\b", re.IGNORECASE)
_QUESTION = re.compile(r"\W*(open )?question\b", re.IGNORECASE)


def text(most: int, least: int = 1) -> AfterValidator:
    """Bounds that callers keep without being told, so that no schema spends words on them."""

    def checked(given: str) -> str:
        if not least <= len(given) <= most:
            raise ValueError(f"must have {least} to {most} characters, not {len(given)}")
        return given

    return AfterValidator(checked)


def whole(least: int, most: int = EVER) -> AfterValidator:
    """The same for numbers."""

    def checked(given: int) -> int:
        if not least <= given <= most:
            raise ValueError(f"must be {least} to {most}")
        return given

    return AfterValidator(checked)


SessionId = Annotated[str, text(64)]
MessageId = Annotated[str, text(64)]
Purpose = Annotated[str, text(2000)]
Content = Annotated[str, text(100_000)]
Summary = Annotated[str, text(20_000, 0)]
Query = Annotated[str, text(500)]
IdempotencyKey = Annotated[str, text(200)]
Threshold = Annotated[float, Field(ge=0, le=100)]
Limit = Annotated[int, Field(ge=1, le=1000)]
ShortLimit = Annotated[int, Field(ge=1, le=100)]
Offset = Annotated[int, whole(0)]
After = Annotated[int, whole(-1)]
MaxTokens = Annotated[int, whole(100, 1_000_000)]
Scope = Literal["all", "public", "private"]
Closed = Literal["completed", "archived"]
MessageType = Literal[
    "user_message", "system_message", "agent_response", "tool_result", "error", "status_update"
]


class Created(Reply):
    session_id: str
    purpose: str
    project: str
    created_at: str
    created_by: str


class Session(Reply):
    session_id: str
    purpose: str
    project: str
    status: str
    created_by: str
    created_at: str
    updated_at: str
    message_count: int
    participants: list[str] = []
    metadata: dict[str, Any] = {}
    summary: str = ""
    closed_at: str | None = None
    closed_by: str = ""

    @classmethod
    def of(cls, row: Row, tally: dict[str, int], idle_since: int) -> "Session":
        idle = row["status"] == "active" and row["updated_at"] <= idle_since
        return cls(
            session_id=row["id"],
            purpose=row["purpose"],
            project=row["project"],
            status="completed" if idle else row["status"],
            created_by=row["created_by"],
            created_at=iso(row["created_at"]),
            updated_at=iso(row["updated_at"]),
            message_count=sum(tally.values()),
            participants=sorted(tally),
            metadata=msgspec.json.decode(row["metadata"]),
            summary=row["summary"],
            closed_at=iso(row["closed_at"]) if row["closed_at"] else None,
            closed_by="idle" if idle else row["closed_by"],
        )


class Sessions(Reply):
    total: int
    sessions: list[Session] = []


class ClosedSession(Reply):
    session_id: str
    status: str
    closed_at: str
    message_count: int


class Message(Reply):
    id: str
    sequence: int
    sender: str
    content: str
    timestamp: str
    message_type: str
    visibility: str
    metadata: dict[str, Any] = {}
    parent_message_id: str | None = None

    @classmethod
    def of(cls, row: Row) -> "Message":
        return cls(
            id=row["id"],
            sequence=row["sequence"],
            sender=row["sender"],
            content=row["content"],
            timestamp=iso_exact(row["at"]),
            message_type=row["message_type"],
            visibility=visibility_of(row["audience"]),
            metadata=msgspec.json.decode(row["metadata"]),
            parent_message_id=row["parent"] or None,
        )


class OneSession(Reply):
    session: Session
    message_count: int
    last_activity: str
    participants: list[str] = []
    messages: list[Message] = []
    hidden_count: int | None = None


class Added(Reply):
    message_id: str
    sequence: int
    timestamp: str
    duplicate: bool = False


class OneMessage(Reply):
    message: Message
    parent: Message | None = None
    replies: list[str] = []


class LeftOut(Reply):
    messages: int
    decisions: int = 0
    open_questions: int = 0
    hint: str = ""


class Messages(Reply):
    count: int
    total_count: int
    has_more: bool
    next_after: int
    messages: list[Message] = []
    left_out: LeftOut | None = None

    @classmethod
    def page(cls, rows: Sequence[Row], total: int, *, has_more: bool, after: int) -> "Messages":
        return cls(
            count=len(rows),
            total_count=total,
            has_more=has_more,
            next_after=rows[-1]["sequence"] if rows else after,
            messages=[Message.of(row) for row in rows],
        )


class Found(Reply):
    message: Message
    score: float
    relevance: str
    match_preview: str
    why: list[str]


class SearchResults(Reply):
    message_count: int
    search_time_ms: float
    results: list[Found] = []


class Act(Reply):
    n: int
    at: str
    act: str
    agent: str
    key: str = ""
    message_id: str = ""
    message_type: str = ""
    visibility: str = ""


class Trail(Reply):
    session_id: str
    count: int
    acts: list[Act] = []
    next_after: int | None = None


def packed(metadata: dict[str, Any] | None) -> str:
    """Metadata as it is stored, if it is within its limit."""
    encoded = msgspec.json.encode(metadata or {}).decode()
    if len(encoded) > METADATA_CHARACTERS:
        raise errors.TooLarge(
            f"metadata is {len(encoded)} characters; {METADATA_CHARACTERS} at most.",
            hint="Put the long part into the content, or into a document.",
        )
    return encoded


def between(given: str) -> tuple[str, str]:
    """The first and the last message id that begin like this."""
    if len(given) < SHORTEST:
        return given, given
    return given.ljust(_MESSAGE_ID, "0"), given.ljust(_MESSAGE_ID, "f")


def idle_since(now: int, settings: Settings) -> int:
    """A session that was last written before this has closed itself; no hours = it never does."""
    return now - settings.context_idle_hours * HOUR if settings.context_idle_hours > 0 else -1


def mark(content: str, metadata: dict[str, Any] | None) -> str:
    """Whether a message decides or asks something, by its metadata or else by its words."""
    told = {str(name).lower() for name, value in (metadata or {}).items() if value}
    kinds = {str((metadata or {}).get(name, "")).lower() for name in ("type", "kind")}
    if told & {"decision", "decisions"} or "decision" in kinds or _DECISION.match(content):
        return "decision"
    asked = told & {"question", "open_question", "open_questions"} or kinds & {"question", "open_question"}
    return "question" if asked or _QUESTION.match(content) or content.rstrip().endswith("?") else ""


def trail(session: Row, added: Sequence[Row], after: int, *, whole: bool) -> list[Act]:
    """What was done after an act, in order; `whole`: there are no more messages to come."""
    ended = session["last_sequence"] + 1
    opened = Act(n=0, at=iso_exact(session["created_at"]), act="session_created", agent=session["created_by"])
    acts = ([opened] if after < 0 else []) + [_written(row) for row in added]
    if session["closed_at"] is not None and whole and after < ended:
        closed_at = iso_exact(session["closed_at"])
        acts.append(Act(n=ended, at=closed_at, act="session_closed", agent=session["closed_by"]))
    return acts


def _written(row: Row) -> Act:
    return Act(
        n=row["sequence"],
        at=iso_exact(row["at"]),
        act="message_added",
        agent=row["sender"],
        key=row["key_id"],
        message_id=row["id"],
        message_type=row["message_type"],
        visibility=visibility_of(row["audience"]),
    )
