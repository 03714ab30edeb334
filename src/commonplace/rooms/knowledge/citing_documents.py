"""Documents that name another one by its id (`derived_from`), after that one was replaced.

Their authors are told when it happens; their readers are warned until the text names what replaced it.
"""

from collections import defaultdict
from collections.abc import Sequence

from commonplace import activity
from commonplace.call import Call
from commonplace.rooms.knowledge import store
from commonplace.search.find import find_entries_by_words
from commonplace.search.query import EntryFilter
from commonplace.store.database import Row, Tx

_MAX_CITING = 20


async def announce_replacement(call: Call, replaced: Row, successor: str) -> list[str]:
    """Tell the authors of documents that cite the replaced one; return the ids of all of them."""
    citing = [row for row in await _list_citing_documents(call, replaced["id"]) if row["id"] != successor]
    ids_by_author: dict[str, list[str]] = defaultdict(list)
    for row in citing:
        if not _cites(row, successor):
            ids_by_author[row["author"]].append(row["id"])
    for author in sorted(ids_by_author.keys() - {call.agent}):
        own = ", ".join(ids_by_author[author])
        text = (
            f"{call.agent} replaced {replaced['id']} with {successor}: check {own} of yours, which cites it."
        )
        await activity.notify_agents(call.tx, call.project, [author], text, call.now)
    return sorted(each for own in ids_by_author.values() for each in own)


async def _list_citing_documents(call: Call, document: str) -> list[Row]:
    """The active documents whose text has the id, found by its rarest part."""
    entry_filter = EntryFilter(call.now, (store.DOCUMENT_KIND,))
    unique = document.partition("_")[2]
    hits = await find_entries_by_words(call.tx, unique, call.project, entry_filter, _MAX_CITING)
    rows = await store.load_documents(call.tx, call.project, [hit.id for hit in hits]) if hits else {}
    return [row for row in rows.values() if _cites(row, document)]


async def find_outdated_citations(tx: Tx, project: str, rows: Sequence[Row]) -> dict[str, str]:
    """What to say of each document that cites a replaced one and not what replaced it."""
    cited = {each for row in rows for each in store.decode_texts(row["derived_from"])}
    if not cited:
        return {}
    replaced = await tx.all(
        "select id, superseded_by from document where project = $1 and id = any($2) and status = 'superseded'"
        " and superseded_by <> '' order by id",
        project,
        sorted(cited),
    )
    return {
        row["id"]: f"cites {old['id']}, which {old['superseded_by']} replaced"
        for row in rows
        for old in reversed(replaced)
        if _cites(row, old["id"])
        and row["id"] != old["superseded_by"]
        and not _cites(row, old["superseded_by"])
    }


def _cites(row: Row, document: str) -> bool:
    return document in store.decode_texts(row["derived_from"])
