"""Passages, prompts and errors of archived sessions as sources of the search index.

The search of `search_sessions` itself is in `session_search.py`.
"""

from collections.abc import Sequence

import msgspec

from commonplace.rooms.archives import study_store
from commonplace.search import index
from commonplace.search.source import SearchItem, SearchSource
from commonplace.store.database import Row, Tx


def describe_error(row: Row) -> str:
    """The error, the command that failed, and what fixed it."""
    followed = msgspec.json.decode(row["followed"], type=list[str])
    parts = [row["text"], f"ran: {row['command']}" if row["command"] else ""]
    if row["fixed_line"]:
        parts += [f"then: {'; '.join(followed)}", f"gone at line {row['fixed_line']}"]
    return "\n".join(part for part in parts if part)


async def load_searched_passages(tx: Tx, project: str, ids: Sequence[str]) -> list[SearchItem]:
    errors = await study_store.load_errors(tx, project, ids)
    passages = await study_store.load_passages(tx, project, [id_ for id_ in ids if id_ not in errors])
    items = [
        _build_search_item(id_, row["text"], describe_error(row), row["line"]) for id_, row in errors.items()
    ]
    return items + [
        _build_search_item(id_, "", "\n".join(piece.text for piece in pieces), pieces[0].line)
        for id_, pieces in passages.items()
    ]


def _build_search_item(entry_id: str, title: str, words: str, line: int) -> SearchItem:
    """Its times are those of the entry."""
    workspace, session = study_store.session_from_entry_id(entry_id)
    place = {"workspace_id": workspace, "session_id": session, "line": line}
    return SearchItem(id=entry_id, title=title, text=words, changed_at=0, details=place)


SEARCH_SOURCES = tuple(
    SearchSource(
        kind=kind,
        load=load_searched_passages,
        names=names,
        whole=study_store.session_from_entry_id,
        bonus=-0.5,
        goes_stale=True,
        is_general=kind == index.TRANSCRIPT_KIND,
        is_shared_with_all=False,
    )
    for kind, names in ((index.TRANSCRIPT_KIND, ("archive", "transcript")), (index.PROMPT_KIND, ()))
)
