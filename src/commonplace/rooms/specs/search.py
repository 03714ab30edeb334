"""Specs as a source of the search index: the latest version of each."""

from collections.abc import Sequence

import msgspec

from commonplace.outdated_citations import find_outdated_citations
from commonplace.rooms.specs import store
from commonplace.search.source import SearchItem, SearchSource
from commonplace.store.database import Row, Tx

SPEC_KIND = "spec"


async def load_searched_specs(tx: Tx, project: str, ids: Sequence[str]) -> list[SearchItem]:
    rows = await store.list_latest_versions(tx, project, ids)
    outdated = await find_outdated_citations(tx, project, {row["id"]: row["content"] for row in rows})
    return [_build_search_item(row, outdated.get(row["id"], "")) for row in rows]


def _build_search_item(row: Row, outdated: str) -> SearchItem:
    return SearchItem(
        id=row["id"],
        title=row["name"],
        text=row["content"],
        type=row["spec_type"],
        author=row["author"],
        tags=tuple(msgspec.json.decode(row["tags"], type=list[str])),
        created_at=row["spec_created_at"],
        updated_at=row["created_at"],
        changed_at=row["created_at"],
        doubts=(outdated,) if outdated else (),
        details={"version": row["version"], "owner": row["owner"]},
    )


SEARCH_SOURCE = SearchSource(kind=SPEC_KIND, load=load_searched_specs, table="spec", has_free_types=True)
