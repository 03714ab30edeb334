"""Counters of a project, and locks made of them: numbers that only one transaction at a time can take.

A counter row stays locked until its transaction commits. SQLite has one writer, so that nothing must be locked there. What most writers of a project change is added
with `add_to_counter` at the end of the transaction: PostgreSQL then locks the row only while it commits.
"""

from collections.abc import Sequence
from functools import cache

from commonplace.store.database import Tx, Value


async def advance_counter(tx: Tx, project: str, name: str, step: int = 1) -> int:
    """Add `step` to the counter and return its new value."""
    row = await tx.one(
        "insert into counter (project, name, n) values ($1, $2, $3)"
        " on conflict (project, name) do update set n = counter.n + excluded.n returning n",
        project,
        name,
        step,
    )
    return int(row["n"]) if row else step


async def add_to_counter(tx: Tx, project: str, name: str, step: int) -> None:
    """Add `step` to the counter, with COMMIT if nothing is asked after it; statements queued later see the new value."""
    await tx.queue(
        "insert into counter (project, name, n) values ($1, $2, $3)"
        " on conflict (project, name) do update set n = counter.n + excluded.n",
        project,
        name,
        step,
    )


async def add_to_counters(tx: Tx, steps: Sequence[tuple[str, str, int]]) -> None:
    """The same for several counters (project, name, step), in this order and in one statement."""
    values: list[Value] = [value for project, name, step in steps for value in (project, name, step)]
    await tx.queue(_format_upsert(len(steps)), *values)


@cache
def _format_upsert(counters: int) -> str:
    places = ", ".join(f"(${n}, ${n + 1}, ${n + 2})" for n in range(1, 3 * counters, 3))
    return (
        f"insert into counter (project, name, n) values {places}"
        " on conflict (project, name) do update set n = counter.n + excluded.n"
    )


async def lock_project_at_end(tx: Tx, project: str, subject: str) -> None:
    """Lock the subject from here on among what is queued; for what is checked again with `expect_no_row`."""
    if tx.kind != "sqlite":
        await add_to_counter(tx, project, subject, 0)


async def lock_project(tx: Tx, project: str, subject: str) -> None:
    """Until commit no other transaction gets the lock on this subject of the project.

    Take it before a check that must still hold when the transaction writes.
    """
    if tx.kind != "sqlite":
        await advance_counter(tx, project, subject, 0)
