"""Guidelines as a source of the search index. Global ones are entries of the project '*', which everyone may read."""

from collections.abc import Sequence

from commonplace.rooms.guidelines import store
from commonplace.search.source import SearchItem, SearchSource
from commonplace.store.database import Row, Tx

GUIDELINE_KIND = "guideline"


async def load_searched_guidelines(tx: Tx, project: str, ids: Sequence[str]) -> list[SearchItem]:
    return [_build_search_item(row) for row in await store.load_guidelines(tx, project, ids)]


def _build_search_item(row: Row) -> SearchItem:
    return SearchItem(
        id=row["id"],
        title=row["name"],
        text=row["rule"],
        type="guideline",
        author=row["updated_by"],
        created_at=row["created_at"] or row["updated_at"],
        updated_at=row["updated_at"],
        changed_at=row["updated_at"],
    )


SEARCH_SOURCE = SearchSource(
    kind=GUIDELINE_KIND, load=load_searched_guidelines, table="guideline", names=("rule",)
)
