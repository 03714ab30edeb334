"""Functions as a source of the search index."""

from collections.abc import Sequence

from commonplace.rooms.functions import model
from commonplace.rooms.functions.store import FUNCTION_KIND, load_functions
from commonplace.search.source import SearchItem, SearchSource
from commonplace.store.database import Row, Tx


async def load_searched_functions(tx: Tx, project: str, ids: Sequence[str]) -> list[SearchItem]:
    return [_build_search_item(row) for row in (await load_functions(tx, project, ids)).values()]


def _build_search_item(row: Row) -> SearchItem:
    return SearchItem(
        id=row["id"],
        title=row["name"],
        text=model.search_text(row),
        type="function_ref",
        status="gone" if row["state"] == "gone" else "active",
        author=row["described_by"] or row["enriched_by"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        changed_at=row["updated_at"],
        details={"path": model.format_location(row)},
    )


SEARCH_SOURCE = SearchSource(kind=FUNCTION_KIND, load=load_searched_functions, goes_stale=True)
