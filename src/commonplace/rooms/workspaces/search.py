"""Knowledge files as a source of the search index. The search of `search_knowledge` is in `knowledge_search.py`."""

from collections.abc import Sequence

from commonplace.rooms.workspaces import file_store
from commonplace.search.source import SearchItem, SearchSource
from commonplace.store.database import Tx


async def load_searched_files(tx: Tx, project: str, ids: Sequence[str]) -> list[SearchItem]:
    return [
        SearchItem(
            id=row["id"],
            title=row["title"],
            text=row["content"],
            updated_at=row["modified_at"],
            changed_at=row["modified_at"],
            details={"workspace_id": row["workspace"], "path": row["path"]},
        )
        for row in await file_store.list_file_texts(tx, project, ids)
    ]


SEARCH_SOURCE = SearchSource(
    kind=file_store.KNOWLEDGE_KIND,
    load=load_searched_files,
    names=("file",),
    goes_stale=True,
    is_shared_with_all=False,
)
