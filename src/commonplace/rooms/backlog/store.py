"""SQL of backlog items, their dependencies and their change history."""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from commonplace.rooms.backlog.model import PRIORITY_RANKS, BacklogFilters, encode_texts
from commonplace.store.database import Row, Tx, Value

_EDITABLE_COLUMNS = (
    "title, description, priority, rank, status, closed, assigned_to, milestone, deferred_reason, resolution,"
    " completed_by, completed_at"
)
_CREATION_COLUMNS = "tags, created_by, created_at"
_COLUMNS_AFTER_PROJECT = f"id, n, {_EDITABLE_COLUMNS}, {_CREATION_COLUMNS}, updated_at, version"
_ITEM_COLUMNS = f"project, {_COLUMNS_AFTER_PROJECT}"
_IS_BLOCKED = (
    "exists (select 1 from backlog_need join backlog as needed"
    " on needed.project = backlog_need.project and needed.id = backlog_need.needs"
    " where backlog_need.project = backlog.project and backlog_need.item = backlog.id and needed.closed = 0)"
)


async def insert_item(
    tx: Tx, project: str, n: int, fields: Mapping[str, str], tags: Sequence[str], agent: str, now: int
) -> Row:
    row = await tx.one(
        f"insert into backlog (project, {_COLUMNS_AFTER_PROJECT}) values ($1, $2, $3, $4, $5, $6, $7, 'open', 0, $8, $9, $10, '', '', null,"
        f" $11, $12, $13, $13, 1) returning {_ITEM_COLUMNS}",
        *(
            project,
            f"backlog_{secrets.token_hex(6)}",
            n,
            fields["title"],
            fields["description"],
            fields["priority"],
        ),
        *(
            PRIORITY_RANKS[fields["priority"]],
            fields["assigned_to"],
            fields["milestone"],
            fields["deferred_reason"],
        ),
        *(encode_texts(tags), agent, now),
    )
    return row or {}


async def load_item(tx: Tx, project: str, item: str) -> Row | None:
    return await tx.one(f"select {_ITEM_COLUMNS} from backlog where project = $1 and id = $2", project, item)


async def filter_existing_ids(tx: Tx, project: str, items: Sequence[str]) -> set[str]:
    rows = await tx.all("select id from backlog where project = $1 and id = any($2)", project, list(items))
    return {row["id"] for row in rows}


async def update_item(tx: Tx, row: Row, values: Mapping[str, Any], now: int) -> Row | None:
    """Update the item; return None if its version changed since it was read."""
    return await tx.one(
        "update backlog set title = $5, description = $6, priority = $7, rank = $8, status = $9, closed = $10,"
        " assigned_to = $11, milestone = $12, deferred_reason = $13, resolution = $14, completed_by = $15,"
        " completed_at = $16, updated_at = $4, version = version + 1 where project = $1 and id = $2 and version = $3"
        f" returning {_ITEM_COLUMNS}",
        *(row["project"], row["id"], row["version"], now),
        *(values[column] for column in _EDITABLE_COLUMNS.split(", ")),
    )


async def insert_changes(
    tx: Tx, row: Row, changes: Mapping[str, tuple[str, str]], agent: str, now: int
) -> None:
    """Record what this version changed."""
    await tx.many(
        "insert into backlog_change (project, item, version, field, before, after, agent, at)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8)",
        [
            (row["project"], row["id"], row["version"], field, before, after, agent, now)
            for field, (before, after) in changes.items()
        ],
    )


async def list_changes(tx: Tx, project: str, item: str) -> Sequence[Row]:
    return await tx.all(
        "select version, field, before, after, agent, at from backlog_change where project = $1 and item = $2"
        " order by version desc, field limit 1000",
        project,
        item,
    )


async def list_dependencies(tx: Tx, projects: Sequence[str], items: Sequence[str]) -> Sequence[Row]:
    """List what these items depend on, and whether each dependency is closed."""
    return await tx.all(
        "select backlog_need.item, backlog_need.needs, backlog.closed from backlog_need"
        " join backlog on backlog.project = backlog_need.project and backlog.id = backlog_need.needs"
        " where backlog_need.project = any($1) and backlog_need.item = any($2) order by backlog.n",
        list(projects),
        list(items),
    )


async def replace_dependencies(tx: Tx, project: str, item: str, dependencies: Sequence[str]) -> None:
    await tx.run("delete from backlog_need where project = $1 and item = $2", project, item)
    await tx.many(
        "insert into backlog_need (project, item, needs) values ($1, $2, $3)",
        [(project, item, dependency) for dependency in dependencies],
    )


async def list_dependency_edges(tx: Tx, project: str, items: Sequence[str]) -> list[tuple[str, str]]:
    """List every dependency that these items lead to, transitively."""
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


async def list_dependents(tx: Tx, project: str, item: str) -> Sequence[Row]:
    """List the open items that depend on this one, and whether each is still blocked."""
    return await tx.all(
        f"select id, title, assigned_to, created_by, case when {_IS_BLOCKED} then 1 else 0 end as blocked from backlog"
        " where project = $1 and closed = 0 and id in"
        " (select item from backlog_need where project = $1 and needs = $2) order by rank, created_at, n limit 200",
        project,
        item,
    )


async def find_items(tx: Tx, filters: BacklogFilters, limit: int, offset: int) -> tuple[Sequence[Row], int]:
    """Return one page of items, by priority, then oldest; and the total."""
    where, values = _filter_conditions(filters)
    rows = await tx.all(
        f"select {_ITEM_COLUMNS} from backlog where project = any($1){where} order by rank, created_at, n, id"
        f" limit ${len(values) + 1} offset ${len(values) + 2}",
        *values,
        limit,
        offset,
    )
    if not offset and len(rows) < limit:
        return rows, len(rows)
    count_row = await tx.one(f"select count(*) as n from backlog where project = any($1){where}", *values)
    return rows, int(count_row["n"]) if count_row else 0


def _filter_conditions(filters: BacklogFilters) -> tuple[str, list[Value]]:
    conditions, values = list[str](), list[Value]([filters.projects])

    def add_condition(condition: str, value: Value) -> None:
        values.append(value)
        conditions.append(condition.format(f"${len(values)}"))

    for column in ("status", "priority", "assigned_to", "milestone"):
        if (value := getattr(filters, column)) is not None:
            add_condition(f"{column} = {{}}", value)
    if filters.tag is not None:
        add_condition("replace(tags, {}, '') <> tags", msgspec.json.encode(filters.tag).decode())
    if filters.ready_for is not None:
        add_condition("status = 'open' and (assigned_to = '' or assigned_to = {})", filters.ready_for)
        conditions.append(f"not {_IS_BLOCKED}")
    if not filters.include_done and filters.status is None:
        conditions.append("closed = 0")
    return "".join(f" and {condition}" for condition in conditions), values


async def list_own_or_ready_items(tx: Tx, project: str, agent: str, limit: int) -> Sequence[Row]:
    """List the agent's open items, then those that it could claim."""
    return await tx.all(
        f"select {_ITEM_COLUMNS} from backlog where project = $1 and closed = 0"
        f" and (assigned_to = $2 or (assigned_to = '' and status = 'open' and not {_IS_BLOCKED}))"
        " order by case when assigned_to = $2 then 0 else 1 end, rank, created_at, n limit $3",
        project,
        agent,
        limit,
    )


async def move_item_rows(tx: Tx, row: Row, target: str, n: int, now: int) -> Row:
    """Copy the item with its history to another project and delete it here.

    A row's project cannot be updated where it is the distribution column (Citus).
    """
    await tx.run(
        f"insert into backlog (project, {_COLUMNS_AFTER_PROJECT}) select cast($3 as text), id, cast($4 as bigint), {_EDITABLE_COLUMNS}, {_CREATION_COLUMNS},"
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
    return await load_item(tx, target, row["id"]) or {}
