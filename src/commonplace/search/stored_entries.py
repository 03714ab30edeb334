"""Load entries of a backup or an export into the search index, with what only this store keeps of them.

An entry travels with the counts of its words, so its postings are rebuilt from there without the texts. SQLite numbers
the entries of all projects in one row, PostgreSQL those of each project: `EntryNumbers` gives the numbers that this
store needs. Entries of a running server are written by `index.py`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from commonplace.search import index
from commonplace.search.embedder import queue_all_entries
from commonplace.search.words import format_full_text, scope_tokens
from commonplace.store.database import Kind, Tx

_SQLITE_WORDS = "insert into words (rowid, tokens) values ($1, $2)"


class EntryNumbers:
    """Numbers for entries that come from another kind of store: the same order, unique in this one."""

    def __init__(self, source: Kind, target: Kind) -> None:
        self._renumbers = source == "postgresql" and target == "sqlite"
        self._last = 0

    def renumber(self, row: dict[str, Any]) -> None:
        if self._renumbers:
            self._last += 1
            row["n"] = self._last


async def insert_stored_entries(tx: Tx, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert entries as they were stored, and their words."""
    places = ", ".join(f"${n}" for n in range(1, len(columns) + 1))
    names = ", ".join(columns)
    values = [tuple(row[name] for name in columns) for row in rows]
    if tx.kind == "postgresql":
        await tx.many(
            f"insert into entry ({names}, words) values ({places}, array_to_tsvector(${len(columns) + 1}))",
            [(*each, list(_list_tokens(row))) for each, row in zip(values, rows, strict=True)],
        )
        return
    await tx.many(f"insert into entry ({names}) values ({places})", values)
    await tx.many(
        _SQLITE_WORDS,
        [(row["n"], format_full_text(_list_tokens(row))) for row in rows],
    )


def _list_tokens(row: Mapping[str, Any]) -> dict[str, int]:
    readers = index.parse_readers(row) if row.get("readers") else ()
    return scope_tokens(row["project"], readers, index.parse_counts(row))


async def finish_index(tx: Tx, *, has_vectors: bool) -> None:
    """Set the counters of the index; without vectors, let the background embed everything again."""
    if tx.kind == "sqlite":
        await tx.run(
            "insert into counter (project, name, n) select '', 'entry', max(n) from entry having count(*) > 0"
        )
        await tx.run(
            "insert into counter (project, name, n) select project, 'embedding', max(at) from embedding group by project"
        )
    else:
        await tx.run(
            "insert into counter (project, name, n) select project, 'entry', max(n) from entry group by project"
        )
        await tx.run(
            "insert into counter (project, name, n)"
            " select project, 'embedding', count(*) from embedding group by project"
        )
    if not has_vectors:
        await queue_all_entries(tx)
