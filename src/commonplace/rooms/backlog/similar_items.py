"""Open items that may be the task that somebody is about to file, so that it is not filed twice.

They are found by the words of the search index and compared before the transaction of the write, which waits for no model
and is not made longer. Of a large batch only the first items are compared.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from commonplace.access import Caller
from commonplace.boot import list_topic_words
from commonplace.call import Call, Calls
from commonplace.rooms.backlog import model, store
from commonplace.rooms.backlog.model import SimilarItem
from commonplace.rooms.backlog.search import BACKLOG_KIND
from commonplace.search.find import find_entries_like
from commonplace.search.query import EntryFilter
from commonplace.store.database import Row, Tx

_SIMILAR_TITLES = 0.4
_SIMILAR_TEXTS = 0.25
"""The share of common words from which texts are about the same thing, as for documents."""
_MIN_COMMON_WORDS = 2
_MAX_CANDIDATES = 8
_MAX_SHOWN = 3
_MAX_COMPARED_ITEMS = 20
_MAX_COMPARED_CHARACTERS = 2_000

SimilarByTitle = Mapping[str, list[SimilarItem]]
"""What is similar to a new item, by its title."""


async def find_similar_items(
    calls: Calls, arguments: Mapping[str, Any], caller: Caller, drafts: Sequence[tuple[str, str]]
) -> SimilarByTitle:
    """Find what is similar to these titles and descriptions in the project that the arguments name."""

    async def read(tx: Tx) -> SimilarByTitle:
        call = await calls.bind_call(tx, caller, arguments.get("session_id"), arguments.get("project"))
        return {
            title: await _find_similar(call, title, description[:_MAX_COMPARED_CHARACTERS])
            for title, description in drafts[:_MAX_COMPARED_ITEMS]
        }

    return await calls.database.read(read) if drafts else {}


async def _find_similar(call: Call, title: str, description: str) -> list[SimilarItem]:
    hits, _ = await find_entries_like(
        call.tx,
        f"{title}\n{description}",
        call.project,
        EntryFilter(call.now, (BACKLOG_KIND,)),
        _MAX_CANDIDATES,
    )
    rows = await store.load_items(call.tx, call.project, [hit.id for hit in hits]) if hits else []
    measured = [(_measure_similarity(row, title, description), row) for row in rows if not row["closed"]]
    nearest = sorted((pair for pair in measured if pair[0]), key=lambda pair: (-pair[0], pair[1]["n"]))
    return [_build_similar_item(model.with_lapsed_claim(row, call.now)) for _, row in nearest[:_MAX_SHOWN]]


def _build_similar_item(row: Row) -> SimilarItem:
    return SimilarItem(**{name: row[name] for name in SimilarItem.__struct_fields__})


def _measure_similarity(row: Row, title: str, description: str) -> float:
    """The share of words that both have, of the titles or of the whole texts; 0 if they are not similar."""
    other = row["description"][:_MAX_COMPARED_CHARACTERS]
    of_titles = _measure_common_words(list_topic_words(title), list_topic_words(row["title"]))
    of_texts = _measure_common_words(
        list_topic_words(title, description), list_topic_words(row["title"], other)
    )
    has_texts = bool(description and other)
    is_similar = of_titles >= _SIMILAR_TITLES or (has_texts and of_texts >= _SIMILAR_TEXTS)
    return max(of_titles, of_texts) if is_similar else 0.0


def _measure_common_words(one: frozenset[str], other: frozenset[str]) -> float:
    common = one & other
    if one == other and one:
        return 1.0
    return len(common) / len(one | other) if len(common) >= _MIN_COMMON_WORDS else 0.0
