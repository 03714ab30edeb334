"""Knowledge files as a source of the search index. The search of `search_knowledge` is in `knowledge_search.py`."""

from collections.abc import Sequence

from commonplace.rooms.workspaces import file_store
from commonplace.search.source import SearchSource
from commonplace.store.database import Row, Tx


async def load_indexed_files(tx: Tx, project: str, ids: Sequence[str]) -> Sequence[Row]:
    rows = await file_store.list_file_texts(tx, project, ids)
    return [
        {
            "id": row["id"],
            "title": row["title"],
            "text": row["content"],
            "place": {"workspace_id": row["workspace"], "path": row["path"]},
        }
        for row in rows
    ]


SEARCH_SOURCE = SearchSource(file_store.KNOWLEDGE_KIND, load_indexed_files)
