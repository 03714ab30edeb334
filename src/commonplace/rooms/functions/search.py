"""Functions as a source of the search index."""

from collections.abc import Sequence

from commonplace.rooms.functions import model
from commonplace.rooms.functions.store import FUNCTION_KIND, load_functions
from commonplace.search.source import SearchSource
from commonplace.store.database import Row, Tx


async def load_indexed_functions(tx: Tx, project: str, ids: Sequence[str]) -> Sequence[Row]:
    row_by_id = await load_functions(tx, project, ids)
    return [
        {"id": row["id"], "title": row["name"], "text": model.search_text(row)} for row in row_by_id.values()
    ]


SEARCH_SOURCE = SearchSource(FUNCTION_KIND, load_indexed_functions)
