"""Changes of the counts of terms: how many entries of a project have each term is in `term`, and what changed since in
`term_change`.

A write that changes entries inserts a row of changes instead of changing the count of each of its words, because SQLite
has one writer. The background adds them to the counts (`term_counts.py`). Who reads the counts adds what waits, so that
they are exact at any time.
"""

import os
import random
import secrets
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from commonplace.store.database import Row, Statement, Tx

MAX_TERMS_PER_BATCH = 400
"""Bounds how long the background holds the writer of SQLite: about as long as the write of a short document."""

# No secrets; asking the system for each one lets go of the interpreter's lock in the writer.
_change_ids = random.Random(secrets.randbits(128))  # noqa: S311
os.register_at_fork(after_in_child=_change_ids.seed)  # two processes must not draw the same ids


def join_terms(terms: Sequence[str]) -> tuple[str, ...]:
    """The terms as rows of changes have them, each row with few enough for one batch."""
    starts = range(0, len(terms), MAX_TERMS_PER_BATCH)
    return tuple(" ".join(terms[start : start + MAX_TERMS_PER_BATCH]) for start in starts)


async def insert_term_changes(tx: Tx, project: str, joined: Iterable[str], step: int = 1) -> None:
    """Let the background add `step` to the counts of these terms (`join_terms`)."""
    await tx.many(
        "insert into term_change (project, id, step, terms) values ($1, $2, $3, $4)",
        [(project, f"{_change_ids.getrandbits(64):016x}", step, terms) for terms in joined],
    )


async def insert_term_steps(tx: Tx, project: str, steps: Mapping[str, int]) -> None:
    """The same for terms that change by different steps."""
    for step in sorted(set(steps.values()) - {0}):
        terms = [term for term, own_step in steps.items() if own_step == step]
        await insert_term_changes(tx, project, join_terms(terms), step)


def term_counts_statement(project: str, terms: Sequence[str]) -> Statement:
    """Reads the counts of these terms with all changes that wait; `sum_term_counts` takes the rows.

    One statement, because on PostgreSQL a read has no snapshot over several.
    """
    return (
        (
            "select term as terms, n as step from term where project = $1 and term = any($2)"
            " union all select terms, step from term_change where project = $1"
        ),
        project,
        list(terms),
    )


def sum_term_counts(rows: Iterable[Row], terms: Collection[str]) -> dict[str, int]:
    """How many entries have each of these terms, for those that some entry has."""
    asked, counts = set(terms), Counter[str]()
    for row in rows:
        for term in asked.intersection(row["terms"].split(" ")):
            counts[term] += row["step"]
    return {term: counts[term] for term in terms if counts[term] > 0}


def terms_between_statement(project: str, first: str, last: str, limit: int) -> Statement:
    """Reads the terms between these two and their counts, with all changes that wait; `sum_steps` takes the rows."""
    return (
        (
            "select terms, step from (select term as terms, n as step from term where project = $1 and term > $2"
            " and term < $3 and n > 0 order by term limit $4) as counted"
            " union all select terms, step from term_change where project = $1"
        ),
        project,
        first,
        last,
        limit,
    )


def sum_steps(rows: Iterable[Row]) -> Counter[str]:
    """How much these rows add to each term."""
    total = Counter[str]()
    for row in rows:
        for term in row["terms"].split(" "):
            total[term] += row["step"]
    return total
