"""Documents as a source of the search index, and the counts of their uses."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from commonplace.outdated_citations import find_outdated_citations
from commonplace.rooms.knowledge import evidence, store
from commonplace.rooms.knowledge.document_warnings import list_document_doubts
from commonplace.rooms.knowledge.later_documents import find_later_documents
from commonplace.search.source import SearchItem, SearchSource
from commonplace.search.usage import EntryUse
from commonplace.store.database import Row, Tx, Work
from commonplace.store.shared_reads import run_together

MAX_USE_BONUS = 0.1
USES_FOR_FULL_BONUS = 50
_EVIDENCE_PENALTIES = {"drifted": 0.2, "gone": 0.5}


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


async def load_searched_documents(tx: Tx, project: str, ids: Sequence[str]) -> list[SearchItem]:
    rows = await store.load_documents(tx, project, ids)
    works: list[Work[Any]] = [
        partial(evidence.find_broken_citations, project=project, documents=list(rows)),
        partial(find_later_documents, project=project, documents=list(rows)),
        partial(
            find_outdated_citations,
            project=project,
            texts={row["id"]: row["content"] for row in rows.values()},
        ),
    ]
    broken, later, outdated = await run_together(tx, works)
    handoffs = [row["id"] for row in rows.values() if row["type"] == "handoff"]
    closed = await store.list_closed_handoffs(tx, project, handoffs) if handoffs else set()
    return [
        _build_search_item(
            {**row, "broken": broken.get(row["id"])},
            later.get(row["id"], ""),
            outdated.get(row["id"], ""),
            is_past=row["id"] in closed,
        )
        for row in rows.values()
    ]


def _build_search_item(row: Row, later: str, outdated: str, *, is_past: bool) -> SearchItem:
    """The bonus for use is a tenth of a standard deviation at most; broken evidence costs more."""
    bonus = MAX_USE_BONUS * min(1.0, row["opened"] / USES_FOR_FULL_BONUS)
    return SearchItem(
        id=row["id"],
        title=row["title"],
        text=row["content"],
        type=row["type"],
        status=row["status"],
        author=row["author"],
        tags=tuple(store.decode_texts(row["tags"])),
        files=tuple(store.decode_texts(row["files"])),
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        changed_at=row["changed_at"],
        expires_at=row["expires_at"],
        doubts=list_document_doubts(row, row["broken"], later, outdated),
        bonus=bonus - (_EVIDENCE_PENALTIES[row["broken"]["state"]] if row["broken"] else 0),
        later=later,
        is_past=is_past,
        row=row,
    )


SEARCH_SOURCE = SearchSource(
    kind=store.DOCUMENT_KIND, load=load_searched_documents, used=record_uses, goes_stale=True
)
