"""Work items as a source of the search index; they leave it with their retention.

What a claim opened says nothing that its backlog item does not say, until something is reported of it.
"""

from collections.abc import Sequence

import msgspec

from commonplace.rooms.work import store
from commonplace.search.index import WORK_KIND
from commonplace.search.source import SearchItem, SearchSource
from commonplace.store.database import Row, Tx


async def load_searched_work(tx: Tx, project: str, ids: Sequence[str]) -> list[SearchItem]:
    return [_build_search_item(row) for row in await store.load_work_items(tx, project, ids)]


def _build_search_item(row: Row) -> SearchItem:
    files = msgspec.json.decode(row["files"], type=list[str])
    parts = (row["notes"], row["blocked_reason"], *files)
    text = "\n".join(part for part in parts if part)
    return SearchItem(
        id=row["id"],
        title=row["title"],
        text=text,
        type="work_item",
        status=row["status"],
        is_active=bool(text or not row["item"]),
        author=row["agent"],
        files=tuple(files),
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        changed_at=row["updated_at"],
        repeats=row["item"],
    )


SEARCH_SOURCE = SearchSource(kind=WORK_KIND, load=load_searched_work, table="work", bonus=-0.25)
