"""A backlog item: its states, what an edit changes, and how replies show it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, get_args

import msgspec
from pydantic import AfterValidator, Field

from commonplace.access import EVERY
from commonplace.clock import age, iso
from commonplace.operation import Reply
from commonplace.store.database import Row
from commonplace.store.ids import Id

Status = Literal[
    "open", "in_progress", "deferred", "blocked", "retest", "needs_info", "done", "wont_do", "duplicate"
]
Priority = Literal["critical", "high", "medium", "low"]
Action = Literal["create", "update", "complete"]

CLOSED = frozenset({"done", "wont_do", "duplicate"})
RANKS = {priority: rank for rank, priority in enumerate(get_args(Priority))}
FIELDS = (
    "title",
    "description",
    "priority",
    "status",
    "assigned_to",
    "milestone",
    "deferred_reason",
    "resolution",
)
_SNIPPET = 160

Title = Annotated[str, Field(min_length=1, max_length=300)]
Text = Annotated[str, Field(max_length=20_000)]
Short = Annotated[str, Field(max_length=500)]
Milestone = Annotated[str, Field(max_length=100)]
Assignee = Annotated[str, Field(max_length=64, pattern=r"^(\w[\w.@:+-]*)?$")]
Tag = Annotated[str, Field(min_length=1, max_length=64, pattern=r'^[^",\\\x00-\x1f]+$')]
Tags = Annotated[list[Tag], Field(max_length=20)]
Needs = Annotated[list[Id], Field(max_length=50)]
Limit = Annotated[int, Field(ge=1, le=100)]
Offset = Annotated[int, Field(ge=0, le=1_000_000)]
Batch = Annotated[list[dict[str, Any]], Field(min_length=1, max_length=100)]


class Everywhere:
    """Every project that the caller may see; written `*`."""


EverywhereOr = Annotated[str, AfterValidator(lambda project: Everywhere() if project == EVERY else project)]


class Item(Reply):
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
    def of(cls, row: Row, needs: Sequence[Row], now: int) -> "Item":
        theirs = [need for need in needs if need["item"] == row["id"]]
        plain = {
            name: row[name] for name in ("id", "project", "version", "created_by", "completed_by", *FIELDS)
        }
        return cls(
            **plain,
            tags=read_list(row["tags"]),
            created=iso(row["created_at"]),
            updated=iso(row["updated_at"]),
            age=age(row["created_at"], now),
            completed_at=iso(row["completed_at"]) if row["completed_at"] else "",
            depends_on=[need["needs"] for need in theirs],
            blocked_by=[need["needs"] for need in theirs if not need["closed"]],
        )

    @property
    def shortened(self) -> "Item":
        return msgspec.structs.replace(self, description=snippet(self.description))


class Changed(Item, kw_only=True):
    """An item after an act; `status` says what was done, `item_status` how the item is."""

    item_status: str

    @classmethod
    def by(cls, act: str, item: Item) -> "Changed":
        fields = {name: getattr(item, name) for name in Item.__struct_fields__}
        return cls(**fields | {"status": act}, item_status=item.status)


class Listing(Reply):
    count: int
    total: int
    items: list[Item] = []
    next_offset: int = 0


class Completed(Reply):
    status: str
    id: str
    title: str
    completed_by: str
    resolution: str
    unblocked: list[str] = []


class Batched(Reply):
    status: str
    action: str
    count: int
    items: list[Changed | Completed] = []


class Filters(msgspec.Struct, frozen=True):
    projects: list[str]
    status: str | None = None
    priority: str | None = None
    assigned_to: str | None = None
    milestone: str | None = None
    tag: str | None = None
    ready_for: str | None = None
    include_done: bool = False


def snippet(text: str) -> str:
    line = " ".join(text[: 2 * _SNIPPET].split())
    return line if len(line) <= _SNIPPET else line[: _SNIPPET - 1].rstrip() + "…"


def write_list(texts: Iterable[str]) -> str:
    return msgspec.json.encode(list(dict.fromkeys(texts))).decode()


def read_list(text: str) -> list[str]:
    return msgspec.json.decode(text, type=list[str])


def merged(row: Row, wanted: Mapping[str, str], agent: str, now: int) -> dict[str, Any]:
    """The item's fields after an edit; closing it says by whom and when, opening it again takes that back."""
    values = {name: wanted.get(name, row[name]) for name in FIELDS}
    closed = values["status"] in CLOSED
    if not closed:
        values["resolution"] = ""
    ended = (row["completed_by"], row["completed_at"]) if row["closed"] else (agent, now)
    by, at = ended if closed else ("", None)
    return values | {
        "rank": RANKS[values["priority"]],
        "closed": int(closed),
        "completed_by": by,
        "completed_at": at,
    }


def changes(row: Row, values: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """Every field that differs, with what it was and what it is."""
    return {name: (row[name], values[name]) for name in FIELDS if row[name] != values[name]}


def cycle(edges: Iterable[tuple[str, str]], start: str) -> list[str]:
    """A way along the edges from `start` back to itself, if there is one."""
    following: dict[str, list[str]] = {}
    for item, needs in edges:
        following.setdefault(item, []).append(needs)
    ways, seen = [[start]], set[str]()
    while ways:
        way = ways.pop()
        for needs in following.get(way[-1], []):
            if needs == start:
                return [*way, start]
            if needs not in seen:
                seen.add(needs)
                ways.append([*way, needs])
    return []


def history(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Changes grouped by the version that they made, newest first."""
    versions: dict[int, dict[str, Any]] = {}
    for row in rows:
        made = {"version": row["version"], "at": iso(row["at"]), "by": row["agent"], "changes": {}}
        version = versions.setdefault(row["version"], made)
        version["changes"][row["field"]] = {"from": row["before"], "to": row["after"]}
    return sorted(versions.values(), key=lambda version: -int(version["version"]))


def found(item: Item, past: Sequence[Row], blocks: Sequence[str]) -> dict[str, Any]:
    """An item as memory_get_by_id shows it."""
    shown = {
        name: getattr(item, name)
        for name in ("id", "title", "status", "project", "tags", "created", "updated")
    }
    about = (
        "priority",
        "assigned_to",
        "milestone",
        "deferred_reason",
        "resolution",
        "completed_by",
        "version",
    )
    return shown | {
        "type": "backlog_item",
        "author": item.created_by,
        "content": item.description,
        "versions": history(past),
        "links": {"depends_on": item.depends_on, "blocked_by": item.blocked_by, "blocks": list(blocks)},
        **{name: getattr(item, name) for name in about if getattr(item, name)},
    }
