"""Counters of a project, and locks made of them: numbers that only one transaction at a time can take.

A counter row stays locked until its transaction commits. SQLite has one writer, so that nothing must be locked there. What most writers of a project change is added
with `add_to_counter` at the end of the transaction: PostgreSQL then locks the row only while it commits.
"""

from commonplace.store.database import Tx


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
