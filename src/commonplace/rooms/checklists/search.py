"""Checklists as a source of the search index: a list is found by its name, its items and their notes."""

from collections import defaultdict
from collections.abc import Sequence

from commonplace.rooms.checklists import model, store
from commonplace.search.source import SearchItem, SearchSource
from commonplace.store.database import Row, Tx

CHECKLIST_KIND = "checklist"


async def load_searched_checklists(tx: Tx, project: str, ids: Sequence[str]) -> list[SearchItem]:
    rows = await store.load_checklists(tx, project, ids)
    items_by_list: dict[str, list[Row]] = defaultdict(list)
    for item in await store.list_items_of_lists(tx, project, [row["name"] for row in rows]):
        items_by_list[item["checklist"]].append(item)
    return [_build_search_item(row, items_by_list[row["name"]]) for row in rows]


def _build_search_item(row: Row, items: Sequence[Row]) -> SearchItem:
    progress = model.format_progress(sum(item["done"] for item in items), len(items))
    return SearchItem(
        id=row["id"],
        title=row["name"],
        text=model.format_items(items),
        type="checklist",
        author=row["created_by"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        changed_at=row["updated_at"],
        details={"progress": progress},
    )


SEARCH_SOURCE = SearchSource(kind=CHECKLIST_KIND, load=load_searched_checklists, table="checklist")
