"""Arguments and replies of memory_checklist."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

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
ChecklistNotes = Annotated[str, Field(max_length=2000)]


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
    item: ChecklistItem
    message: str = ""
    earlier_notes: str = ""
    """The notes that those of this call replaced."""

    @classmethod
    def from_rows(
        cls, before: Row, after: Row, items: Sequence[Row], project: str, name: str, notes: str | None
    ) -> "CheckedItem":
        """`items` are those of the list before the change; notes that the caller sent are not repeated."""
        done = bool(after["done"])
        others = sum(item["done"] for item in items if item["place"] != after["place"])
        is_repeated = before["done"] == after["done"] and bool(before["checked_by"])
        return cls(
            status="checked" if done else "unchecked",
            name=name,
            project=project,
            progress=format_progress(others + done, len(items)),
            item=ChecklistItem.from_row(
                {**after, "notes": "" if notes else after["notes"]}, after["added_by"]
            ),
            message=_explain_check(before, done, is_repeated=is_repeated, has_notes=bool(notes)),
            earlier_notes=before["notes"] if notes and notes != before["notes"] else "",
        )


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


def _explain_check(before: Row, done: bool, *, is_repeated: bool, has_notes: bool) -> str:
    """Say whose check it is, the first one counts; and that notes were stored, which the reply does not repeat."""
    sentences = []
    if is_repeated:
        verb = "checked" if done else "unchecked"
        sentences.append(f"{before['checked_by']} had {verb} it already, at {iso(before['checked_at'])}.")
    if has_notes:
        sentences.append("Your notes are stored.")
    return " ".join(sentences)


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
