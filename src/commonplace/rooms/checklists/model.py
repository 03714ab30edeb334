"""Arguments and replies of memory_checklist."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from commonplace.clock import iso
from commonplace.operation import Reply
from commonplace.store.database import Row

MAX_CHECKLIST_ITEMS = 500
MAX_LISTED_CHECKLISTS = 200

ChecklistName = Annotated[str, Field(min_length=1, max_length=200)]
ChecklistItemText = Annotated[str, Field(min_length=1, max_length=1000)]
ChecklistItems = Annotated[list[ChecklistItemText], Field(min_length=1, max_length=MAX_CHECKLIST_ITEMS)]
InitialItems = Annotated[list[ChecklistItemText], Field(max_length=MAX_CHECKLIST_ITEMS)]
ChecklistIndex = Annotated[int, Field(ge=0, le=MAX_CHECKLIST_ITEMS - 1)]
_INDEX_SCHEMA = {"type": "integer", "minimum": 0, "maximum": MAX_CHECKLIST_ITEMS - 1}
ChecklistIndexes = Annotated[
    list[ChecklistIndex],
    Field(min_length=1, max_length=MAX_CHECKLIST_ITEMS, description="From 0; or a list."),
    BeforeValidator(lambda value: value if isinstance(value, list) else [value]),
    WithJsonSchema(
        {"anyOf": [_INDEX_SCHEMA, {"type": "array", "items": _INDEX_SCHEMA, "maxItems": MAX_CHECKLIST_ITEMS}]}
    ),
]
"""One number, or a list of them."""
ChecklistNotes = Annotated[str, Field(max_length=2000)]
MAX_NOTES_OF_ITEM_CHARACTERS = 10_000


class ChecklistItem(Reply):
    index: int
    text: str
    done: bool
    checked_by: str = ""
    checked_at: str = ""
    notes: str = ""
    added_by: str = ""
    """Who added it, if not the one who created the list."""

    @classmethod
    def from_row(cls, row: Row, created_by: str = "") -> "ChecklistItem":
        return cls(
            index=row["place"],
            text=row["text"],
            done=bool(row["done"]),
            checked_by=row["checked_by"],
            checked_at=iso(row["checked_at"]) if row["checked_at"] else "",
            notes=row["notes"],
            added_by="" if row["added_by"] == created_by else row["added_by"],
        )


class Checklist(Reply):
    id: str
    name: str
    project: str
    progress: str
    created_by: str
    created: str
    updated: str
    items: list[ChecklistItem]

    @classmethod
    def from_row(cls, row: Row, items: Sequence[Row]) -> "Checklist":
        return cls(
            id=row["id"],
            name=row["name"],
            project=row["project"],
            progress=format_progress(sum(item["done"] for item in items), len(items)),
            created_by=row["created_by"],
            created=iso(row["created_at"]),
            updated=iso(row["updated_at"]),
            items=[ChecklistItem.from_row(item, row["created_by"]) for item in items],
        )


class ChangedChecklist(Reply):
    """`first_index` is the position of the first new item."""

    status: str
    id: str
    name: str
    project: str
    progress: str
    first_index: int | None = None


class CheckedItem(Reply):
    status: str
    name: str
    project: str
    progress: str
    item: ChecklistItem | None = None
    """The item, if one was checked."""
    items: list[ChecklistItem] = []
    """The items, if several were."""
    message: str = ""

    @classmethod
    def from_rows(
        cls, before: Sequence[Row], after: Sequence[Row], row: Row, notes: str | None, agent: str
    ) -> "CheckedItem":
        """`before` are all items of the list, `after` those that were checked; notes of the caller are not repeated."""
        changed = {item["place"]: item for item in after}
        items = [
            ChecklistItem.from_row({**item, "notes": "" if notes else item["notes"]}, item["added_by"])
            for item in after
        ]
        done = sum(changed.get(item["place"], item)["done"] for item in before)
        reply = cls(
            status="checked" if after[0]["done"] else "unchecked",
            name=row["name"],
            project=row["project"],
            progress=format_progress(done, len(before)),
            message=_explain_check([before[place] for place in changed], after, agent, has_notes=bool(notes)),
        )
        if len(items) > 1:
            reply.items = items
        else:
            reply.item = items[0]
        return reply


class ChecklistSummary(Reply):
    name: str
    project: str
    progress: str
    updated: str

    @classmethod
    def from_row(cls, row: Row) -> "ChecklistSummary":
        return cls(
            name=row["name"],
            project=row["project"],
            progress=format_progress(row["done"], row["total"]),
            updated=iso(row["updated_at"]),
        )


class ChecklistListing(Reply):
    count: int
    total: int
    checklists: list[ChecklistSummary]


class DeletedChecklist(Reply):
    status: str
    name: str
    project: str
    items_deleted: int


def _explain_check(before: Sequence[Row], after: Sequence[Row], agent: str, *, has_notes: bool) -> str:
    """Say which others had checked an item before; and that notes were stored, which the reply does not repeat."""
    verb = "checked" if after[0]["done"] else "unchecked"
    names = {old["place"]: f"item {old['place']}" if len(before) > 1 else "it" for old in before}
    sentences = [
        f"{old['checked_by']} had {verb} {names[old['place']]} already, at {iso(old['checked_at'])}."
        for old in before
        if old["done"] == after[0]["done"] and old["checked_by"] not in ("", agent)
    ]
    is_added = any(old["notes"] for old in before)
    stored = "Your notes are added to the earlier ones." if is_added else "Your notes are stored."
    return " ".join([*sentences, stored] if has_notes else sentences)


def format_progress(done: int, total: int) -> str:
    return f"{done}/{total}"


def format_items(items: Sequence[Row]) -> str:
    """The items as lines; the marks are no words, so that a checked item needs no new entry in the search index."""
    lines = (f"{'✓' if item['done'] else '·'} {item['text']} {item['notes']}" for item in items)
    return "\n".join(line.rstrip() for line in lines)


def render_checklist_document(row: Row, items: Sequence[Row], uri: str) -> dict[str, Any]:
    """Render a checklist for memory_get_by_id."""
    return {
        "id": row["id"],
        "title": row["name"],
        "type": "checklist",
        "status": "active",
        "project": row["project"],
        "created": iso(row["created_at"]),
        "updated": iso(row["updated_at"]),
        "author": row["created_by"],
        "content": format_items(items),
        "progress": format_progress(sum(item["done"] for item in items), len(items)),
        "links": {"uri": uri},
    }
