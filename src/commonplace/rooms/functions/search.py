"""Functions as a source of the search index."""

from collections.abc import Sequence

from commonplace.rooms.functions import model
from commonplace.rooms.functions.store import KIND, by_ids
from commonplace.search.source import Source
from commonplace.store.database import Row, Tx


async def load_indexed_functions(tx: Tx, project: str, ids: Sequence[str]) -> Sequence[Row]:
    found = await by_ids(tx, project, ids)
    return [{"id": row["id"], "title": row["name"], "text": model.searched(row)} for row in found.values()]


SEARCH_SOURCE = Source(KIND, load_indexed_functions)
