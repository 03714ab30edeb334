"""Guidelines in the store; those of the project '*' hold everywhere."""

from collections.abc import Sequence

from commonplace.store.database import Row, Tx

MOST = 200
"""How many a scope may have: all of them are read at every session's start."""

_ROW = "select project, name, rule, priority, updated_at, updated_by from guideline"


async def listed(tx: Tx, projects: Sequence[str]) -> Sequence[Row]:
    return await tx.all(
        f"{_ROW} where project = any($1) order by priority, name, project limit $2",
        list(projects),
        MOST * len(projects),
    )


async def find(tx: Tx, project: str, name: str) -> Row | None:
    return await tx.one(f"{_ROW} where project = $1 and name = $2", project, name)


async def count(tx: Tx, project: str) -> int:
    row = await tx.one("select count(*) as n from guideline where project = $1", project)
    return int(row["n"]) if row else 0


async def put(tx: Tx, project: str, name: str, rule: str, priority: int, agent: str, now: int) -> Row | None:
    return await tx.one(
        "insert into guideline (project, name, rule, priority, updated_at, updated_by)"
        " values ($1, $2, $3, $4, $5, $6)"
        " on conflict (project, name) do update set rule = excluded.rule, priority = excluded.priority,"
        " updated_at = excluded.updated_at, updated_by = excluded.updated_by"
        " returning project, name, rule, priority, updated_at, updated_by",
        project,
        name,
        rule,
        priority,
        now,
        agent,
    )


async def remove(tx: Tx, project: str, name: str) -> bool:
    return await tx.run("delete from guideline where project = $1 and name = $2", project, name) > 0
