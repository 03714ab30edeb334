"""Adds the changes of `term_changes.py` to the counts of terms, in the background.

Each batch is a transaction that also deletes its changes, so that none is lost or added twice, whenever the process ends
and however many replicas there are.
"""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from commonplace.search import postgres, sqlite
from commonplace.search.term_changes import MAX_TERMS_PER_BATCH, sum_steps
from commonplace.store.database import Database, Row, Tx

_MAX_ROWS_PER_BATCH = 100
_DIALECTS = {"sqlite": sqlite, "postgresql": postgres}


class _ChangesTaken(Exception):
    """Another replica added some of these changes: roll back."""


@dataclass(frozen=True, slots=True)
class _Batch:
    project: str
    ids: list[str]
    steps: dict[str, int]


async def add_next_changes(database: Database) -> bool:
    """Add one batch of changes to the counts; False if none waits."""
    batch = await database.read(_load_batch)
    if batch is None:
        return False
    with contextlib.suppress(_ChangesTaken):
        await database.write(lambda tx: _add_batch(tx, batch))
    return True


async def _load_batch(tx: Tx) -> _Batch | None:
    """The next batch, with what is computed from it: none of that holds the writer."""
    first = await tx.one("select project from term_change limit 1")
    return await _load_project_batch(tx, first["project"]) if first else None


async def _load_project_batch(tx: Tx, project: str) -> _Batch | None:
    rows = await tx.all(
        "select id, step, terms from term_change where project = $1 order by id limit $2",
        project,
        _MAX_ROWS_PER_BATCH,
    )
    chosen = list(_list_until_full(rows))
    return _Batch(project, [row["id"] for row in chosen], _sum_steps(chosen)) if chosen else None


def _list_until_full(rows: Sequence[Row]) -> Iterator[Row]:
    """The first rows that have no more terms together than a batch may have; at least one."""
    together: set[str] = set()
    for row in rows:
        has_some = bool(together)
        together.update(row["terms"].split(" "))
        if has_some and len(together) > MAX_TERMS_PER_BATCH:
            return
        yield row


def _sum_steps(rows: Sequence[Row]) -> dict[str, int]:
    """Sorted, so that replicas cannot deadlock."""
    steps = sum_steps(rows)
    return {term: steps[term] for term in sorted(steps) if steps[term]}


async def _add_batch(tx: Tx, batch: _Batch) -> None:
    deleted = await tx.run(
        "delete from term_change where project = $1 and id = any($2)", batch.project, batch.ids
    )
    if deleted != len(batch.ids):
        raise _ChangesTaken
    if batch.steps:
        await _DIALECTS[tx.kind].update_term_counts(tx, batch.project, batch.steps)


async def add_project_changes(tx: Tx, project: str) -> None:
    """Add all changes of a project that wait, in this transaction."""
    rows = await tx.all("delete from term_change where project = $1 returning step, terms", project)
    if steps := _sum_steps(rows):
        await _DIALECTS[tx.kind].update_term_counts(tx, project, steps)
