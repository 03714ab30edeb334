"""A checklist, as replies show it."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from commonplace.clock import iso
from commonplace.operation import Reply
from commonplace.store.database import Row

MOST_ITEMS = 500
MOST_LISTS = 200

Name = Annotated[str, Field(min_length=1, max_length=200)]
ItemText = Annotated[str, Field(min_length=1, max_length=1000)]
Items = Annotated[list[ItemText], Field(min_length=1, max_length=MOST_ITEMS)]
FirstItems = Annotated[list[ItemText], Field(max_length=MOST_ITEMS)]
Index = Annotated[int, Field(ge=0, lt=MOST_ITEMS)]
Notes = Annotated[str, Field(max_length=2000)]


class Item(Reply):
    index: int
    text: str
    done: bool
    checked_by: str = ""
    checked_at: str = ""
    notes: str = ""

    @classmethod
    def of(cls, row: Row) -> "Item":
        return cls(
            index=row["place"],
            text=row["text"],
            done=bool(row["done"]),
            checked_by=row["checked_by"],
            checked_at=iso(row["checked_at"]) if row["checked_at"] else "",
            notes=row["notes"],
        )


class Checklist(Reply):
    name: str
    project: str
    progress: str
    created_by: str
    created: str
    updated: str
    status: str = ""
    items: list[Item] = []

    @classmethod
    def of(cls, row: Row, items: Sequence[Row], act: str = "") -> "Checklist":
        return cls(
            status=act,
            name=row["name"],
            project=row["project"],
            progress=progress(sum(item["done"] for item in items), len(items)),
            created_by=row["created_by"],
            created=iso(row["created_at"]),
            updated=iso(row["updated_at"]),
            items=[Item.of(item) for item in items],
        )


class Checked(Reply):
    status: str
    name: str
    project: str
    progress: str
    item: Item


class Summary(Reply):
    name: str
    project: str
    progress: str
    updated: str

    @classmethod
    def of(cls, row: Row) -> "Summary":
        return cls(
            name=row["name"],
            project=row["project"],
            progress=progress(row["done"], row["total"]),
            updated=iso(row["updated_at"]),
        )


class Listing(Reply):
    count: int
    total: int
    checklists: list[Summary] = []


class Deleted(Reply):
    status: str
    name: str
    project: str
    items_deleted: int


def progress(done: int, total: int) -> str:
    return f"{done}/{total}"
