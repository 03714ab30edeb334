"""Documents and specs that name a document by its id, after that one was replaced.

Their authors are told when it happens; their readers are warned (`outdated_citations.py`).
"""

from collections import defaultdict
from typing import NamedTuple

from commonplace.call import Call
from commonplace.notices import notify_agents
from commonplace.rooms.knowledge import store
from commonplace.search.find import find_entries_by_words
from commonplace.search.query import EntryFilter
from commonplace.search.source import SearchItem

_CITING_KINDS = (store.DOCUMENT_KIND, "spec")
_HANDOFF_TYPE = "handoff"
"""It tells what was, and need not be mended."""
_MAX_CITING = 20


class Replacement(NamedTuple):
    """The ids of what cites a replaced document and not its successor, and the agents that were told to check it."""

    cited_by: list[str]
    notified: list[str]


async def announce_replacement(call: Call, replaced: str, successor: str) -> Replacement:
    """Tell the authors of what cites the replaced document."""
    citing = [
        item
        for item in await _list_citing_items(call, replaced)
        if item.id != successor and successor not in item.text and item.type != _HANDOFF_TYPE
    ]
    ids_by_author: dict[str, list[str]] = defaultdict(list)
    for item in citing:
        ids_by_author[item.details.get("owner") or item.author].append(_name_item(item))
    notified: list[str] = []
    for author in sorted(ids_by_author.keys() - {call.agent}):
        own = ", ".join(ids_by_author[author])
        text = f"{call.agent} replaced {replaced} with {successor}: check {own} of yours, which cites it."
        notified += await notify_agents(call.tx, call.project, [author], text, call.now)
    return Replacement(sorted(item.id for item in citing), notified)


def _name_item(item: SearchItem) -> str:
    return f"spec {item.title}" if item.details.get("owner") else item.id


async def _list_citing_items(call: Call, document: str) -> list[SearchItem]:
    """The active documents and specs whose text has the id, found by its rarest part."""
    unique = document.partition("_")[2]
    found: list[SearchItem] = []
    for kind in _CITING_KINDS:
        entry_filter = EntryFilter(call.now, (kind,))
        hits = await find_entries_by_words(call.tx, unique, call.project, entry_filter, _MAX_CITING)
        if hits:
            source = call.search.sources[kind]
            found += await source.load(call.tx, call.project, [hit.id for hit in hits])
    return [item for item in found if document in item.text]
