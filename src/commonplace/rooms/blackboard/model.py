"""Blackboard sessions and messages: arguments, replies, and pure functions. The SQL is in `store.py`."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from pydantic import Field

from commonplace import errors
from commonplace.clock import HOUR, iso, iso_exact
from commonplace.config import Settings
from commonplace.operation import Reply
from commonplace.store.database import Row
from commonplace.store.ids import MIN_PREFIX_CHARACTERS

MAX_METADATA_CHARACTERS = 10_000
MAX_INTEGER = 2**62

_MESSAGE_ID_CHARACTERS = len("msg_") + 12


Visibility = Literal["public", "private", "agent_only", "admin_only"]
ALL_VISIBILITIES: tuple[Visibility, ...] = ("public", "private", "agent_only", "admin_only")
PUBLIC_AUDIENCE, ADMIN_AUDIENCE = "", "admin"
BlackboardId = Annotated[str, Field(min_length=1, max_length=64, description="Blackboard.")]
BlackboardMessageId = Annotated[str, Field(min_length=1, max_length=64)]
Purpose = Annotated[str, Field(min_length=1, max_length=2000)]
MessageContent = Annotated[str, Field(min_length=1, max_length=100_000)]
ClosingSummary = Annotated[str, Field(max_length=20_000, description="Conclusion.")]
ContextQuery = Annotated[str, Field(min_length=1, max_length=500)]
MessageIdempotencyKey = Annotated[
    str, Field(min_length=1, max_length=100, description="Same key, same reply for 24 h.")
]
"""`idempotency.py` takes it before the operation runs."""
FuzzyThreshold = Annotated[float, Field(ge=0, le=100, description="Least score.")]
MessageLimit = Annotated[int, Field(ge=1, le=1000)]
ResultLimit = Annotated[int, Field(ge=1, le=100)]
PageOffset = Annotated[int, Field(ge=0, le=MAX_INTEGER)]
AfterSequence = Annotated[int, Field(ge=-1, le=MAX_INTEGER)]
ContextTokens = Annotated[int, Field(ge=100, le=1_000_000)]
SearchScope = Literal["all", "public", "private"]
ClosedStatus = Literal["completed", "archived"]
BlackboardMessageType = Literal[
    "user_message", "system_message", "agent_response", "tool_result", "error", "status_update"
]


def visibility_of_audience(audience: str) -> Visibility:
    if audience == PUBLIC_AUDIENCE:
        return "public"
    if audience == ADMIN_AUDIENCE:
        return "admin_only"
    return "private" if audience.startswith("agent:") else "agent_only"


class CreatedBlackboard(Reply):
    session_id: str
    purpose: str
    project: str
    created_at: str
    created_by: str


class BlackboardSession(Reply):
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
    def from_row(cls, row: Row, count_by_sender: dict[str, int], idle_since: int) -> "BlackboardSession":
        is_idle = row["status"] == "active" and row["updated_at"] <= idle_since
        return cls(
            session_id=row["id"],
            purpose=row["purpose"],
            project=row["project"],
            status="completed" if is_idle else row["status"],
            created_by=row["created_by"],
            created_at=iso(row["created_at"]),
            updated_at=iso(row["updated_at"]),
            message_count=sum(count_by_sender.values()),
            participants=sorted(count_by_sender),
            metadata=msgspec.json.decode(row["metadata"]),
            summary=row["summary"],
            closed_at=iso(row["closed_at"]) if row["closed_at"] else None,
            closed_by="idle" if is_idle else row["closed_by"],
        )


class BlackboardListing(Reply):
    total: int
    sessions: list[BlackboardSession]


class ClosedBlackboard(Reply):
    session_id: str
    status: str
    closed_at: str
    message_count: int


class BlackboardMessage(Reply):
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
    def from_row(cls, row: Row) -> "BlackboardMessage":
        return cls(
            id=row["id"],
            sequence=row["sequence"],
            sender=row["sender"],
            content=row["content"],
            timestamp=iso_exact(row["at"]),
            message_type=row["message_type"],
            visibility=visibility_of_audience(row["audience"]),
            metadata=msgspec.json.decode(row["metadata"]),
            parent_message_id=row["parent"] or None,
        )


class BlackboardDetails(Reply):
    session: BlackboardSession
    message_count: int
    last_activity: str
    messages: list[BlackboardMessage]
    participants: list[str] = []
    hidden_count: int | None = None


class UnreadPost(Reply):
    sequence: int
    sender: str
    excerpt: str


class AddedMessage(Reply):
    message_id: str
    sequence: int
    timestamp: str
    unread: list[UnreadPost] = []
    """The first posts of others that the author had not read."""
    read_with: str = ""


class MessageDetails(Reply):
    message: BlackboardMessage
    replies: list[str]
    parent: BlackboardMessage | None = None


class OmittedMessages(Reply):
    messages: int
    decisions: int = 0
    open_questions: int = 0
    hint: str = ""


class MessagePage(Reply):
    count: int
    total_count: int
    has_more: bool
    next_after: int
    messages: list[BlackboardMessage]
    left_out: OmittedMessages | None = None

    @classmethod
    def from_rows(cls, rows: Sequence[Row], total: int, *, has_more: bool, after: int) -> "MessagePage":
        return cls(
            count=len(rows),
            total_count=total,
            has_more=has_more,
            next_after=rows[-1]["sequence"] if rows else after,
            messages=[BlackboardMessage.from_row(row) for row in rows],
        )


class BlackboardStatistics(Reply):
    message_count: int
    by_visibility: dict[str, int] = {}
    hidden_count: int | None = None


class BlackboardView(Reply):
    session: BlackboardSession
    statistics: BlackboardStatistics
    messages: list[BlackboardMessage]


class MessageMatch(Reply):
    message: BlackboardMessage
    score: float
    relevance: str
    match_preview: str
    why: list[str]


class ContextSearchResults(Reply):
    message_count: int
    search_time_ms: float
    results: list[MessageMatch]


class BlackboardAct(Reply):
    n: int
    at: str
    act: str
    agent: str
    key: str = ""
    message_id: str = ""
    message_type: str = ""
    visibility: str = ""


class BlackboardAuditTrail(Reply):
    session_id: str
    count: int
    acts: list[BlackboardAct]
    next_after: int | None = None


def encode_metadata(metadata: dict[str, Any] | None) -> str:
    """Encode metadata for the store; refuse it above its limit."""
    encoded = msgspec.json.encode(metadata or {}).decode()
    if len(encoded) > MAX_METADATA_CHARACTERS:
        raise errors.TooLarge(
            f"metadata has {len(encoded)} characters as JSON; the limit is {MAX_METADATA_CHARACTERS}.",
            hint="Move the long part into the content, or store it with memory_store.",
        )
    return encoded


def message_id_range(id_prefix: str) -> tuple[str, str]:
    """Return the lowest and highest message id that start with this prefix."""
    if len(id_prefix) < MIN_PREFIX_CHARACTERS:
        return id_prefix, id_prefix
    return id_prefix.ljust(_MESSAGE_ID_CHARACTERS, "0"), id_prefix.ljust(_MESSAGE_ID_CHARACTERS, "f")


def idle_cutoff(now: int, settings: Settings) -> int:
    """Sessions last written before this time count as closed; -1 if the setting turns that off."""
    return now - settings.context_idle_hours * HOUR if settings.context_idle_hours > 0 else -1


def classify_message(metadata: dict[str, Any] | None) -> str:
    """ "decision", "question" or "": what `type` or `kind` in the metadata say that the message is."""
    kinds = [str((metadata or {}).get(name, "")).lower() for name in ("type", "kind")]
    return next((kind for kind in kinds if kind in ("decision", "question")), "")


def build_audit_trail(
    session: Row, messages: Sequence[Row], after: int, *, is_last_page: bool
) -> list[BlackboardAct]:
    """List the acts after number `after`, in order; `is_last_page`: no messages follow these."""
    closing_number = session["last_sequence"] + 1
    creation = BlackboardAct(
        n=0, at=iso_exact(session["created_at"]), act="session_created", agent=session["created_by"]
    )
    acts = ([creation] if after < 0 else []) + [_message_act(row) for row in messages]
    if session["closed_at"] is not None and is_last_page and after < closing_number:
        closed_at = iso_exact(session["closed_at"])
        acts.append(
            BlackboardAct(n=closing_number, at=closed_at, act="session_closed", agent=session["closed_by"])
        )
    return acts


def _message_act(row: Row) -> BlackboardAct:
    return BlackboardAct(
        n=row["sequence"],
        at=iso_exact(row["at"]),
        act="message_added",
        agent=row["sender"],
        key=row["key_id"],
        message_id=row["id"],
        message_type=row["message_type"],
        visibility=visibility_of_audience(row["audience"]),
    )
