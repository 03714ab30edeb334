"""Backlog items as a source of the search index.

Done items stand behind what holds now: a bug that was fixed is what one looks for. What was not done is found only with
`include_inactive`.
"""

from collections.abc import Sequence
from typing import Any

from commonplace.clock import iso
from commonplace.rooms.backlog import model, store
from commonplace.search.index import IndexEntry
from commonplace.search.refresh import entry_from_item
from commonplace.search.source import SearchItem, SearchSource
from commonplace.store.database import Row, Tx

BACKLOG_KIND = "backlog"


async def load_searched_items(tx: Tx, project: str, ids: Sequence[str]) -> list[SearchItem]:
    rows, needs = await store.load_items_with_needs(tx, project, ids)
    return [_build_search_item(row, needs) for row in rows]


def _build_search_item(row: Row, needs: Sequence[Row]) -> SearchItem:
    blocked_by = [need["needs"] for need in needs if need["item"] == row["id"] and not need["closed"]]
    return SearchItem(
        id=row["id"],
        title=row["title"],
        text="\n".join(part for part in (row["description"], row["resolution"]) if part),
        type="backlog_item",
        status=row["status"],
        is_active=not row["closed"] or row["status"] == "done",
        is_past=bool(row["closed"]),
        author=row["created_by"],
        tags=tuple(model.decode_texts(row["tags"])),
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        changed_at=row["updated_at"],
        details={"blocked_by": blocked_by} if blocked_by else {},
        row=row,
    )


def build_entry(row: Row) -> IndexEntry:
    """The index entry of an item."""
    return entry_from_item(BACKLOG_KIND, row["project"], _build_search_item(row, ()))


def describe_item(row: Row, now: int) -> dict[str, Any]:
    """The fields of a result; a claim that lapsed in silence is shown as lapsed."""
    item = model.with_lapsed_claim(row, now)
    return {
        "status": item["status"],
        "priority": "" if item["priority"] == model.DEFAULT_PRIORITY else item["priority"],
        "assigned_to": item["assigned_to"],
        "claimed_until": iso(item["claimed_until"]) if item["claimed_until"] else "",
    }


SEARCH_SOURCE = SearchSource(
    kind=BACKLOG_KIND,
    load=load_searched_items,
    table="backlog",
    names=("task", "ticket", "todo", "backlog_item"),
    describe=describe_item,
)
