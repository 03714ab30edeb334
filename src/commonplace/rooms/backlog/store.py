"""Backlog items, what they need, and every change of them in the store."""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from commonplace.rooms.backlog.model import RANKS, Filters, write_list
from commonplace.store.database import Row, Tx, Value

_SETTABLE = (
    "title, description, priority, rank, status, closed, assigned_to, milestone, deferred_reason, resolution,"
    " completed_by, completed_at"
)
_KEPT = "tags, created_by, created_at"
_REST = f"id, n, {_SETTABLE}, {_KEPT}, updated_at, version"
_ITEM = f"project, {_REST}"
_BLOCKED = (
    "exists (select 1 from backlog_need join backlog as needed"
    " on needed.project = backlog_need.project and needed.id = backlog_need.needs"
    " where backlog_need.project = backlog.project and backlog_need.item = backlog.id and needed.closed = 0)"
)


async def add(
    tx: Tx, project: str, n: int, given: Mapping[str, str], tags: Sequence[str], agent: str, now: int
) -> Row:
    row = await tx.one(
        f"insert into backlog (project, {_REST}) values ($1, $2, $3, $4, $5, $6, $7, 'open', 0, $8, $9, $10, '', '', null,"
        f" $11, $12, $13, $13, 1) returning {_ITEM}",
        *(
            project,
            f"backlog_{secrets.token_hex(6)}",
            n,
            given["title"],
            given["description"],
            given["priority"],
        ),
        *(RANKS[given["priority"]], given["assigned_to"], given["milestone"], given["deferred_reason"]),
        *(write_list(tags), agent, now),
    )
    return row or {}


async def one(tx: Tx, project: str, item: str) -> Row | None:
    return await tx.one(f"select {_ITEM} from backlog where project = $1 and id = $2", project, item)


async def existing(tx: Tx, project: str, items: Sequence[str]) -> set[str]:
    rows = await tx.all("select id from backlog where project = $1 and id = any($2)", project, list(items))
    return {row["id"] for row in rows}


async def project_names(tx: Tx) -> list[str]:
    return [row["name"] for row in await tx.all("select name from project order by name")]


async def change(tx: Tx, row: Row, values: Mapping[str, Any], now: int) -> Row | None:
    """Write the fields of an edit; nothing if the item is no longer the one that was read."""
    return await tx.one(
        "update backlog set title = $5, description = $6, priority = $7, rank = $8, status = $9, closed = $10,"
        " assigned_to = $11, milestone = $12, deferred_reason = $13, resolution = $14, completed_by = $15,"
        " completed_at = $16, updated_at = $4, version = version + 1 where project = $1 and id = $2 and version = $3"
        f" returning {_ITEM}",
        *(row["project"], row["id"], row["version"], now),
        *(values[column] for column in _SETTABLE.split(", ")),
    )


async def record(tx: Tx, row: Row, changes: Mapping[str, tuple[str, str]], agent: str, now: int) -> None:
    """Keep what this version changed."""
    await tx.many(
        "insert into backlog_change (project, item, version, field, before, after, agent, at)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8)",
        [
            (row["project"], row["id"], row["version"], field, before, after, agent, now)
            for field, (before, after) in changes.items()
        ],
    )


async def past(tx: Tx, project: str, item: str) -> Sequence[Row]:
    return await tx.all(
        "select version, field, before, after, agent, at from backlog_change where project = $1 and item = $2"
        " order by version desc, field limit 1000",
        project,
        item,
    )


async def needs(tx: Tx, projects: Sequence[str], items: Sequence[str]) -> Sequence[Row]:
    """What these items depend on, and whether that is closed."""
    return await tx.all(
        "select backlog_need.item, backlog_need.needs, backlog.closed from backlog_need"
        " join backlog on backlog.project = backlog_need.project and backlog.id = backlog_need.needs"
        " where backlog_need.project = any($1) and backlog_need.item = any($2) order by backlog.n",
        list(projects),
        list(items),
    )


async def set_needs(tx: Tx, project: str, item: str, wanted: Sequence[str]) -> None:
    await tx.run("delete from backlog_need where project = $1 and item = $2", project, item)
    await tx.many(
        "insert into backlog_need (project, item, needs) values ($1, $2, $3)",
        [(project, item, each) for each in wanted],
    )


async def edges(tx: Tx, project: str, items: Sequence[str]) -> list[tuple[str, str]]:
    """Every dependency that these items lead to."""
    rows = await tx.all(
        "with recursive reached (item) as (select id from backlog where project = $1 and id = any($2)"
        " union select backlog_need.needs from backlog_need join reached on backlog_need.item = reached.item"
        " where backlog_need.project = $1)"
        " select backlog_need.item, backlog_need.needs from backlog_need join reached on reached.item = backlog_need.item"
        " where backlog_need.project = $1",
        project,
        list(items),
    )
    return [(row["item"], row["needs"]) for row in rows]


async def blocks(tx: Tx, project: str, item: str) -> Sequence[Row]:
    """The unfinished items that need this one, and whether they still wait for any."""
    return await tx.all(
        f"select id, title, assigned_to, created_by, case when {_BLOCKED} then 1 else 0 end as blocked from backlog"
        " where project = $1 and closed = 0 and id in"
        " (select item from backlog_need where project = $1 and needs = $2) order by rank, created_at, n limit 200",
        project,
        item,
    )


async def search(tx: Tx, filters: Filters, limit: int, offset: int) -> tuple[Sequence[Row], int]:
    """Priority, then oldest; and how many there are."""
    where, values = _conditions(filters)
    rows = await tx.all(
        f"select {_ITEM} from backlog where project = any($1){where} order by rank, created_at, n, id"
        f" limit ${len(values) + 1} offset ${len(values) + 2}",
        *values,
        limit,
        offset,
    )
    if not offset and len(rows) < limit:
        return rows, len(rows)
    counted = await tx.one(f"select count(*) as n from backlog where project = any($1){where}", *values)
    return rows, int(counted["n"]) if counted else 0


def _conditions(filters: Filters) -> tuple[str, list[Value]]:
    where, values = list[str](), list[Value]([filters.projects])

    def also(condition: str, value: Value) -> None:
        values.append(value)
        where.append(condition.format(f"${len(values)}"))

    for column in ("status", "priority", "assigned_to", "milestone"):
        if (value := getattr(filters, column)) is not None:
            also(f"{column} = {{}}", value)
    if filters.tag is not None:
        also("replace(tags, {}, '') <> tags", msgspec.json.encode(filters.tag).decode())
    if filters.ready_for is not None:
        also("status = 'open' and (assigned_to = '' or assigned_to = {})", filters.ready_for)
        where.append(f"not {_BLOCKED}")
    if not filters.include_done and filters.status is None:
        where.append("closed = 0")
    return "".join(f" and {condition}" for condition in where), values


async def mine_or_ready(tx: Tx, project: str, agent: str, limit: int) -> Sequence[Row]:
    """What the agent has in hand, then what it could take."""
    return await tx.all(
        f"select {_ITEM} from backlog where project = $1 and closed = 0"
        f" and (assigned_to = $2 or (assigned_to = '' and status = 'open' and not {_BLOCKED}))"
        " order by case when assigned_to = $2 then 0 else 1 end, rank, created_at, n limit $3",
        project,
        agent,
        limit,
    )


async def move(tx: Tx, row: Row, target: str, n: int, now: int) -> Row:
    """Carry the item with its history to another project; rows cannot change theirs where projects are spread."""
    await tx.run(
        f"insert into backlog (project, {_REST}) select cast($3 as text), id, cast($4 as bigint), {_SETTABLE}, {_KEPT},"
        " cast($5 as bigint), version + 1 from backlog where project = $1 and id = $2",
        *(row["project"], row["id"], target, n, now),
    )
    await tx.run(
        "insert into backlog_change (project, item, version, field, before, after, agent, at)"
        " select cast($3 as text), item, version, field, before, after, agent, at from backlog_change"
        " where project = $1 and item = $2",
        *(row["project"], row["id"], target),
    )
    for table, column in (
        ("backlog_change", "item"),
        ("backlog_need", "item"),
        ("backlog_need", "needs"),
        ("backlog", "id"),
    ):
        await tx.run(f"delete from {table} where project = $1 and {column} = $2", row["project"], row["id"])
    return await one(tx, target, row["id"]) or {}
