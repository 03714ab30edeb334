"""Bring index entries up to date with the rows of their rooms: after a write, and in the background.

A write marks what it changed (`call.reindex`), and `refresh_items` runs at the end of its transaction. Rows that are older
than the index, or that changed in a way that touches many (an agent gets another name), stand in `index_fill` and are
done in bounded batches, each in a transaction of its own; a restart goes on where the last batch ended.
"""

from collections.abc import Mapping, Sequence

from commonplace.search import index
from commonplace.search.source import SearchItem, SearchSource
from commonplace.store.database import Database, Tx

_ROWS_PER_BATCH = 200


async def refresh_items(tx: Tx, source: SearchSource, project: str, ids: Sequence[str]) -> None:
    """Index the items with these ids as they are now; those that are gone leave the index."""
    items = await source.load(tx, project, ids)
    entries = [entry_from_item(source.kind, project, item) for item in items]
    await index.refresh_entries(tx, project, source.kind, ids, entries)


def entry_from_item(kind: str, project: str, item: SearchItem) -> index.IndexEntry:
    """What the index holds of an item."""
    return index.IndexEntry(
        project,
        kind,
        item.id,
        item.type,
        item.title,
        item.text,
        item.changed_at,
        status="active" if item.is_active else "inactive",
        expires_at=item.expires_at,
        tags=item.tags,
        readers=item.readers,
    )


async def purge_deleted_words(tx: Tx) -> None:
    """Drop the words of deleted entries, which the full-text index of SQLite keeps until it merges its segments."""
    if tx.kind == "sqlite":
        await tx.run("insert into words (words) values ('optimize')")


async def request_refresh(tx: Tx, project: str, kind: str) -> None:
    """Let the background refresh all items of a kind."""
    await tx.run(
        "insert into index_fill (project, kind, last_id) values ($1, $2, '')"
        " on conflict (project, kind) do update set last_id = excluded.last_id",
        project,
        kind,
    )


async def run_requested_refreshes(database: Database, sources: Mapping[str, SearchSource]) -> None:
    """Refresh batch after batch, until nothing is left to do."""
    while await database.read(_has_request):
        await database.write(lambda tx: _refresh_next_batch(tx, sources))


async def _has_request(tx: Tx) -> bool:
    return await tx.one("select project from index_fill limit 1") is not None


async def _refresh_next_batch(tx: Tx, sources: Mapping[str, SearchSource]) -> None:
    waiting = await tx.one("select project, kind from index_fill order by project, kind limit 1")
    if waiting is None:
        return
    project, kind = waiting["project"], waiting["kind"]
    # A replica that takes the same batch waits for this row, and finds the next batch or none.
    taken = await tx.one(
        "update index_fill set last_id = last_id where project = $1 and kind = $2 returning last_id",
        project,
        kind,
    )
    if taken is None:
        return
    rows = await tx.all(
        f"select id from {sources[kind].table} where project = $1 and id > $2 order by id limit $3",
        project,
        taken["last_id"],
        _ROWS_PER_BATCH,
    )
    ids = [row["id"] for row in rows]
    await refresh_items(tx, sources[kind], project, ids)
    if len(ids) < _ROWS_PER_BATCH:
        await tx.run("delete from index_fill where project = $1 and kind = $2", project, kind)
    else:
        await tx.run(
            "update index_fill set last_id = $3 where project = $1 and kind = $2", project, kind, ids[-1]
        )
