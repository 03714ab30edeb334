"""Backlog items: arguments, replies, and the pure functions that compute an edit. The SQL is in `store.py`."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, get_args

import msgspec
from pydantic import AfterValidator, Field

from commonplace.access import ALL_PROJECTS
from commonplace.clock import format_age, iso
from commonplace.operation import Reply
from commonplace.store.database import Row
from commonplace.store.ids import Id

BacklogStatus = Literal[
    "open", "in_progress", "deferred", "blocked", "retest", "needs_info", "done", "wont_do", "duplicate"
]
BacklogPriority = Literal["critical", "high", "medium", "low"]
BacklogAction = Literal["create", "update", "complete"]

CLOSED_STATUSES = frozenset({"done", "wont_do", "duplicate"})
PRIORITY_RANKS = {priority: rank for rank, priority in enumerate(get_args(BacklogPriority))}
EDITABLE_FIELDS = (
    "title",
    "description",
    "priority",
    "status",
    "assigned_to",
    "milestone",
    "deferred_reason",
    "resolution",
)
_SNIPPET_CHARACTERS = 160

ItemTitle = Annotated[str, Field(min_length=1, max_length=300)]
ItemText = Annotated[str, Field(max_length=20_000)]
DeferredReason = Annotated[str, Field(max_length=500)]
Milestone = Annotated[str, Field(max_length=100)]
Assignee = Annotated[str, Field(max_length=64, pattern=r"^(\w[\w.@:+-]*)?$")]
BacklogTag = Annotated[str, Field(min_length=1, max_length=64, pattern=r'^[^",\\\x00-\x1f]+$')]
BacklogTags = Annotated[list[BacklogTag], Field(max_length=20)]
Dependencies = Annotated[list[Id], Field(max_length=50)]
BacklogLimit = Annotated[int, Field(ge=1, le=100)]
BacklogOffset = Annotated[int, Field(ge=0, le=1_000_000)]
BatchItems = Annotated[list[dict[str, Any]], Field(min_length=1, max_length=100)]


class AllProjects:
    """Every project that the caller may see; callers write `*`."""


ProjectOrAll = Annotated[
    str, AfterValidator(lambda project: AllProjects() if project == ALL_PROJECTS else project)
]


class BacklogItem(Reply):
    id: str
    project: str
    title: str
    status: str
    priority: str
    version: int
    created: str
    updated: str
    age: str
    created_by: str
    description: str = ""
    assigned_to: str = ""
    tags: list[str] = []
    milestone: str = ""
    deferred_reason: str = ""
    depends_on: list[str] = []
    blocked_by: list[str] = []
    resolution: str = ""
    completed_by: str = ""
    completed_at: str = ""

    @classmethod
    def from_row(cls, row: Row, needs: Sequence[Row], now: int) -> "BacklogItem":
        own_needs = [need for need in needs if need["item"] == row["id"]]
        stored_fields = {
            name: row[name]
            for name in ("id", "project", "version", "created_by", "completed_by", *EDITABLE_FIELDS)
        }
        return cls(
            **stored_fields,
            tags=decode_texts(row["tags"]),
            created=iso(row["created_at"]),
            updated=iso(row["updated_at"]),
            age=format_age(row["created_at"], now),
            completed_at=iso(row["completed_at"]) if row["completed_at"] else "",
            depends_on=[need["needs"] for need in own_needs],
            blocked_by=[need["needs"] for need in own_needs if not need["closed"]],
        )

    @property
    def with_snippet(self) -> "BacklogItem":
        return msgspec.structs.replace(self, description=truncate_description(self.description))


class ChangedItem(BacklogItem, kw_only=True):
    """An item after a change; `status` is what was done, `item_status` the status of the item."""

    item_status: str

    @classmethod
    def from_item(cls, outcome: str, item: BacklogItem) -> "ChangedItem":
        fields = {name: getattr(item, name) for name in BacklogItem.__struct_fields__}
        return cls(**fields | {"status": outcome}, item_status=item.status)


class BacklogListing(Reply):
    count: int
    total: int
    items: list[BacklogItem] = []
    next_offset: int = 0


class CompletedItem(Reply):
    status: str
    id: str
    title: str
    completed_by: str
    resolution: str
    unblocked: list[str] = []


class BatchReply(Reply):
    status: str
    action: str
    count: int
    items: list[ChangedItem | CompletedItem] = []


class BacklogFilters(msgspec.Struct, frozen=True):
    projects: list[str]
    status: str | None = None
    priority: str | None = None
    assigned_to: str | None = None
    milestone: str | None = None
    tag: str | None = None
    ready_for: str | None = None
    include_done: bool = False


def truncate_description(text: str) -> str:
    line = " ".join(text[: 2 * _SNIPPET_CHARACTERS].split())
    return line if len(line) <= _SNIPPET_CHARACTERS else line[: _SNIPPET_CHARACTERS - 1].rstrip() + "…"


def encode_texts(texts: Iterable[str]) -> str:
    return msgspec.json.encode(list(dict.fromkeys(texts))).decode()


def decode_texts(text: str) -> list[str]:
    return msgspec.json.decode(text, type=list[str])


def apply_edits(row: Row, edits: Mapping[str, str], agent: str, now: int) -> dict[str, Any]:
    """Return the item's fields after an edit; closing sets who completed it and when, reopening clears that."""
    values = {name: edits.get(name, row[name]) for name in EDITABLE_FIELDS}
    closed = values["status"] in CLOSED_STATUSES
    if not closed:
        values["resolution"] = ""
    completion = (row["completed_by"], row["completed_at"]) if row["closed"] else (agent, now)
    completed_by, completed_at = completion if closed else ("", None)
    return values | {
        "rank": PRIORITY_RANKS[values["priority"]],
        "closed": int(closed),
        "completed_by": completed_by,
        "completed_at": completed_at,
    }


def diff_fields(row: Row, values: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """Return every field that differs, with its old and new value."""
    return {name: (row[name], values[name]) for name in EDITABLE_FIELDS if row[name] != values[name]}


def find_dependency_cycle(edges: Iterable[tuple[str, str]], start: str) -> list[str]:
    """Return a path along the edges from `start` back to itself, or an empty list."""
    needs_by_item: dict[str, list[str]] = {}
    for item, needs in edges:
        needs_by_item.setdefault(item, []).append(needs)
    paths, seen = [[start]], set[str]()
    while paths:
        path = paths.pop()
        for needs in needs_by_item.get(path[-1], []):
            if needs == start:
                return [*path, start]
            if needs not in seen:
                seen.add(needs)
                paths.append([*path, needs])
    return []


def group_changes_by_version(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Group changes by the version that they created, newest first."""
    versions: dict[int, dict[str, Any]] = {}
    for row in rows:
        entry = {"version": row["version"], "at": iso(row["at"]), "by": row["agent"], "changes": {}}
        version = versions.setdefault(row["version"], entry)
        version["changes"][row["field"]] = {"from": row["before"], "to": row["after"]}
    return sorted(versions.values(), key=lambda entry: -int(entry["version"]))


def render_item_document(
    item: BacklogItem, change_rows: Sequence[Row], blocks: Sequence[str]
) -> dict[str, Any]:
    """Render an item for memory_get_by_id."""
    fields = {
        name: getattr(item, name)
        for name in ("id", "title", "status", "project", "tags", "created", "updated")
    }
    optional_fields = (
        "priority",
        "assigned_to",
        "milestone",
        "deferred_reason",
        "resolution",
        "completed_by",
        "version",
    )
    return fields | {
        "type": "backlog_item",
        "author": item.created_by,
        "content": item.description,
        "versions": group_changes_by_version(change_rows),
        "links": {"depends_on": item.depends_on, "blocked_by": item.blocked_by, "blocks": list(blocks)},
        **{name: getattr(item, name) for name in optional_fields if getattr(item, name)},
    }
