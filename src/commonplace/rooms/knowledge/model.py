"""The arguments and replies of this room, and the rules that need no store: expiry, status, warnings."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from pydantic import BeforeValidator, Field, StringConstraints

from commonplace.clock import DAY, format_age, iso
from commonplace.operation import Reply
from commonplace.store.database import Row

MAX_CONTENT_BYTES = 51_200
STALE_MICROSECONDS = 30 * DAY
NEAR_DUPLICATE_SIMILARITY = 0.6
"""From here on two documents say nearly the same (`text.measure_similarity`)."""

DocumentType = Literal[
    "api_spec",
    "architecture",
    "component",
    "config",
    "adr",
    "learning",
    "pattern",
    "gotcha",
    "code_snippet",
    "solution",
    "task_context",
    "handoff",
    "work_item",
    "interface",
    "function_ref",
    "spec",
]
TYPE_BY_OTHER_NAME = {"decision": "adr", "lesson": "learning", "snippet": "code_snippet", "note": "learning"}
"""Words that agents use for a type."""
StoredType = Annotated[
    DocumentType,
    BeforeValidator(
        lambda value: (
            TYPE_BY_OTHER_NAME.get(value.strip().lower(), value) if isinstance(value, str) else value
        )
    ),
]
RequestedType = Annotated[str, Field(min_length=1, max_length=40, description="Its kind.")]
"""A kind of items or a type of documents; `recall.py` knows which there are."""
RequestedTypes = Annotated[list[RequestedType], Field(max_length=30)]
DocumentStatus = Literal[
    "active", "deprecated", "superseded", "archived", "conflicted", "review_pending", "expired"
]
DetailLevel = Literal["auto", "snippet", "full"]

QueryText = Annotated[str, Field(min_length=1, max_length=4000)]
DocumentTitle = Annotated[str, StringConstraints(min_length=1, max_length=300, strip_whitespace=True)]
# The limit is in bytes; `drafts.py` refuses more as too_large.
DocumentContent = Annotated[str, Field(min_length=1, max_length=MAX_CONTENT_BYTES)]
Tag = Annotated[str, StringConstraints(min_length=1, max_length=64, strip_whitespace=True, to_lower=True)]
DocumentTags = Annotated[list[Tag], Field(max_length=32)]
CitedPlace = Annotated[str, Field(min_length=1, max_length=500)]
CitedPlaces = Annotated[list[CitedPlace], Field(max_length=100, description="path, path:line, path#symbol.")]
NamedDocument = Annotated[str, StringConstraints(max_length=300, strip_whitespace=True)]
"""A document by its id, number or title."""
DocumentId = Annotated[str, Field(min_length=8, max_length=64)]
# A passage of an archived session is named by its workspace, its session and its number.
ItemId = Annotated[str, Field(min_length=8, max_length=400, description="Or its first 8 characters.")]
InterfaceText = Annotated[str, Field(max_length=200)]
ResultLimit = Annotated[int, Field(ge=1, le=50)]
ExpiryDays = Annotated[int, Field(ge=1, le=36500)]
TokenBudget = Annotated[int, Field(ge=100, le=100_000)]
StatusReason = Annotated[str, Field(max_length=1000)]

_LIFETIME_DAYS = {"learning": 180, "gotcha": 180, "task_context": 60, "handoff": 28, "work_item": 14}
_STATUS_WARNINGS = {
    "deprecated": "deprecated: do not build on this",
    "superseded": "superseded: read what replaced it",
    "archived": "archived: kept for the record",
    "conflicted": "conflicted: another document says otherwise",
    "review_pending": "not reviewed yet",
    "expired": "expired: check before use",
}


def compute_expiry(type_: str, days: int | None, now: int) -> int | None:
    """The time after `days`, else after the lifetime of the type, else never."""
    after = days or _LIFETIME_DAYS.get(type_)
    return now + after * DAY if after else None


def resolve_status(status: str, expires_at: int | None, now: int) -> str:
    return "expired" if status == "active" and expires_at is not None and expires_at <= now else status


def format_warning(status: str, changed_at: int, now: int, *more: str) -> str | None:
    """The warnings as one line; the age is that of the content, not of the status."""
    notes = [_STATUS_WARNINGS[status]] if status in _STATUS_WARNINGS else []
    if now - changed_at >= STALE_MICROSECONDS:
        notes.append(f"unchanged for {format_age(changed_at, now)}: check before use")
    return "; ".join((*notes, *(each for each in more if each))) or None


class ItemDetails(Reply, kw_only=True):
    """What results of some kinds have: a task its priority and claim, a file its `path`, a passage its first `line`."""

    priority: str = ""
    assigned_to: str = ""
    claimed_until: str = ""
    blocked_by: list[str] = []
    """The open items that it depends on."""
    version: str = ""
    owner: str = ""
    progress: str = ""
    to: str = ""
    workspace_id: str = ""
    path: str = ""
    session_id: str = ""
    line: int | None = None


class QueryResult(ItemDetails, kw_only=True):
    """One result of a query."""

    kind: str
    id: str
    source: str
    title: str
    type: str
    status: str
    relevance: float
    age: str
    content: str
    why: str
    doubtful: bool = False
    """It may have nothing to do with the question."""
    created: str = ""
    updated: str = ""
    author: str = ""
    tags: list[str] = []
    truncated: bool = False
    warning: str | None = None
    later: str = ""
    """The id of a document that replaces this one, or of a newer one that says nearly the same."""


class QueryAnswer(Reply):
    query: str
    result_count: int
    results: list[QueryResult]
    more_matches: int = 0
    """The number of further relevant matches; a higher limit shows them."""
    message: str = ""
    nearest_titles: list[str] = []


class StoredItem(Reply):
    """The reply of memory_get_by_id, for the items of every room."""

    found: bool
    id: str
    title: str = ""
    warning: str | None = None
    """What a reader must know before trusting it, such as the later document that refines it."""
    type: str = ""
    status: str = ""
    project: str = ""
    tags: list[str] = []
    created: str = ""
    updated: str = ""
    author: str = ""
    priority: str | int = ""
    resolution: str = ""
    answered_by: str = ""
    owner: str = ""
    spec_type: str = ""
    progress: str = ""
    content: str = ""
    truncated: bool = False
    expires_at: str = ""
    versions: Any = []
    version_count: int = 0
    """The number of versions, if `versions` does not list them all."""
    interface: dict[str, Any] = {}
    links: Any = {}
    message: str = ""
    facts: dict[str, Any] = {}
    """What its kind of item has beside these fields (`store/nouns.py`)."""


class SimilarDocument(Reply):
    id: str
    title: str
    similarity: float
    age: str = ""
    author: str = ""


class StoreReceipt(Reply):
    """The receipt of a write."""

    status: str
    id: str
    version: int = 1
    expires_at: str | None = None
    overlap_warning: str | None = None
    similar: list[SimilarDocument] = []
    refines: list[str] = []
    """The documents that its text says it replaces or amends."""
    flags: list[str] = []
    masked: list[str] = []
    superseded: str = ""
    """The document that this one replaced, if the call named one."""
    cited_by: list[str] = []
    """Active documents and specs that cite the replaced one, and may be outdated."""
    notified: list[str] = []
    """Their authors, who were told."""
    message: str = ""


class StatusChanged(Reply):
    status: str
    doc_id: str
    old_status: str
    new_status: str
    superseded_by: str = ""
    cited_by: list[str] = []
    """Active documents and specs that cite the replaced one, and may be outdated."""
    notified: list[str] = []
    """Their authors, who were told."""
    message: str = ""


class TagChange(Reply):
    status: str
    tag: str
    docs: list[dict[str, str]]
    archived_count: int | None = None
    restored_count: int | None = None
    still_archived: list[dict[str, str]] = []
    """Not restored, because an active document has the same text."""


class GlobalResult(ItemDetails, kw_only=True):
    """One result of memory_search_global."""

    kind: str
    id: str
    project: str
    title: str
    relevance: float
    age: str
    content_preview: str
    doubtful: bool = False
    type: str = ""
    status: str = ""
    author: str = ""
    warning: str | None = None
    later: str = ""


class GlobalAnswer(Reply):
    query: str
    result_count: int
    results: list[GlobalResult]
    more_matches: int = 0
    message: str = ""
    nearest_titles: list[str] = []


class CitationPage(Reply):
    count: int
    citations: list[dict[str, Any]]
    next_cursor: str | None = None


class CitationReport(Reply):
    status: str
    fresh: int
    drifted: int
    gone: int
    unchecked: int = 0


class Evidence(Reply):
    """A cited place: `before` is its text when it was cited or last found unchanged, `now` what has taken its place."""

    place: str
    state: str
    checked: str = ""
    before: str = ""
    now: str = ""


class EvidencePage(Reply):
    count: int
    evidence: list[Evidence]


def count_unlisted_versions(count: int, listed: Sequence[Row]) -> int:
    """The number of versions if not all are listed, else 0."""
    return count if count > len(listed) else 0


def render_version(row: Row) -> dict[str, Any]:
    fields = {"version": row["version"], "at": iso(row["at"]), "by": row["author"], "what": row["what"]}
    fields |= {"status": row["status"]}
    return fields | ({"reason": row["reason"]} if row["reason"] else {})


def render_interface(row: Row) -> dict[str, Any]:
    """The interface that a document describes, without empty fields."""
    schema = msgspec.json.decode(row["interface_schema"]) if row["interface_schema"] else None
    fields = {
        "name": row["interface_name"],
        "version": row["interface_version"],
        "owner": row["interface_owner"],
        "schema": schema,
    }
    return {name: value for name, value in fields.items() if value}
