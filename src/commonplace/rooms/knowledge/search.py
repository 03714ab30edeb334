"""Documents as a source of the search index, and the counts of their uses."""

from collections.abc import Sequence

from commonplace.rooms.knowledge import store
from commonplace.search.source import SearchSource
from commonplace.search.usage import EntryUse
from commonplace.store.database import Row, Tx


async def record_uses(tx: Tx, uses: Sequence[EntryUse]) -> None:
    for project in sorted({use.project for use in uses}):
        project_uses = [use for use in uses if use.project == project]
        await store.increment_use_counts(
            tx, project, "opened", [use.id for use in project_uses if use.opened]
        )
        await store.increment_use_counts(
            tx, project, "recalled", [use.id for use in project_uses if not use.opened]
        )
        await store.record_served_documents(tx, project_uses)


async def load_indexed_documents(tx: Tx, project: str, ids: Sequence[str]) -> Sequence[Row]:
    rows = await store.load_documents(tx, project, ids)
    return [
        {"id": row["id"], "title": row["title"], "text": row["content"], "flags": row["flags"]}
        for row in rows.values()
    ]


SEARCH_SOURCE = SearchSource(store.DOCUMENT_KIND, load_indexed_documents, record_uses)
