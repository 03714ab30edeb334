"""SQL of backlog items, their dependencies, their claims and their change history."""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from commonplace.agent_names import AgentRename
from commonplace.clock import MINUTE
from commonplace.identity.session import AgentSession
from commonplace.rooms.backlog.model import (
    BACKLOG,
    CLAIM_LIFETIME,
    PRIORITY_RANKS,
    BacklogFilters,
    with_lapsed_claim,
)
from commonplace.store.database import Row, Tx, Value

_SELECT_ITEMS = f"select {BACKLOG.columns} from backlog where project = $1 and id = any($2)"
_SELECT_NEEDS = (
    "select backlog_need.item, backlog_need.needs, backlog.closed from backlog_need"
    " join backlog on backlog.project = $1 and backlog.id = backlog_need.needs"
    " where backlog_need.project = $1 and backlog_need.item = any($2) order by backlog.n"
)
CLAIMS_OF_SESSION = "select item_project, item from backlog_claim where project = $1 and session = $2 order by item_project, item"
_INSERT_CHANGE = (
    "insert into backlog_change (project, item, version, field, before, after, agent, at)"
    " values ($1, $2, $3, $4, $5, $6, $7, $8)"
)
_EXTENSION_INTERVAL = MINUTE
_MAX_CLOSED_COUNTED = 1000
_CLAIM_LAPSED = "(claim_session <> '' and claimed_until <= {now})"
_IS_OPEN = f"(status = 'open' or {_CLAIM_LAPSED})"
_IS_UNASSIGNED = f"(assigned_to = '' or claim_assigned = 1 and {_CLAIM_LAPSED})"
_IS_ASSIGNED = f"(assigned_to = {{}} and not (claim_assigned = 1 and {_CLAIM_LAPSED}))"
_ORDER = "order by rank, created_at, n"


async def insert_item(tx: Tx, project: str, n: int, fields: Mapping[str, Any], agent: str, now: int) -> Row:
    return await BACKLOG.insert(
        tx,
        {
            **fields,
            "project": project,
            "id": f"backlog_{secrets.token_hex(6)}",
            "n": n,
            "rank": PRIORITY_RANKS[fields["priority"]],
            "status": "deferred" if fields["deferred_reason"] else "open",
            "created_by": agent,
            "created_at": now,
            "updated_at": now,
            "version": 1,
        },
    )


async def load_item(tx: Tx, project: str, item: str) -> Row | None:
    return await tx.one(
        f"select {BACKLOG.columns} from backlog where project = $1 and id = $2", project, item
    )


async def load_items(tx: Tx, project: str, items: Sequence[str]) -> Sequence[Row]:
    return await tx.all(_SELECT_ITEMS, project, list(items))


async def load_items_with_needs(
    tx: Tx, project: str, items: Sequence[str]
) -> tuple[Sequence[Row], Sequence[Row]]:
    """Return the items, and what they depend on as `list_dependencies` does."""
    rows, needs = await tx.together(
        (_SELECT_ITEMS, project, list(items)), (_SELECT_NEEDS, project, list(items))
    )
    return rows, needs


async def find_items(
    tx: Tx, projects: Sequence[str], filters: BacklogFilters, limit: int, offset: int
) -> tuple[Sequence[Row], int]:
    """Return one page of items, by priority, then oldest; and the total. Of several projects each is asked alone."""
    where, values = _filter_conditions(filters)
    skipped = offset if len(projects) == 1 else 0
    found, total = list[Row](), 0
    for project in projects:
        rows = await tx.all(
            f"select {BACKLOG.columns} from backlog where project = $1{where} {_ORDER}"
            f" limit ${len(values) + 2} offset ${len(values) + 3}",
            *(project, *values, offset - skipped + limit, skipped),
        )
        found += rows
        total += await _count_items(tx, project, where, values) if offset or len(rows) >= limit else len(rows)
    if len(projects) > 1:
        found.sort(key=lambda row: (row["rank"], row["created_at"], row["n"], row["id"]))
    return found[offset - skipped :][:limit], total


async def _count_items(tx: Tx, project: str, where: str, values: Sequence[Value]) -> int:
    row = await tx.one(f"select count(*) as n from backlog where project = $1{where}", project, *values)
    return int(row["n"]) if row else 0


async def count_closed_items(tx: Tx, project: str, assigned_to: str | None) -> dict[str, int]:
    """Count the closed items of the project and assignee, by status; of a long history only some."""
    rows = await tx.all(
        "select status, count(*) as n from (select status from backlog where project = $1 and closed = 1"
        " and (cast($2 as text) is null or assigned_to = $2) limit $3) as counted group by status",
        project,
        assigned_to,
        _MAX_CLOSED_COUNTED,
    )
    return {row["status"]: int(row["n"]) for row in rows}


def _filter_conditions(filters: BacklogFilters) -> tuple[str, list[Value]]:
    """The conditions after that on the project, which is $1, and their values."""
    conditions, values = list[str](), list[Value]()
    for condition, argument in _list_conditions(filters):
        if argument is not None:
            values.append(argument)
        placeholder = f"${len(values) + 1}"
        if "{now}" in condition:
            values.append(filters.now)
        conditions.append(condition.format(placeholder, now=f"${len(values) + 1}"))
    return "".join(f" and {condition}" for condition in conditions), values


def _list_conditions(filters: BacklogFilters) -> Iterator[tuple[str, str | None]]:
    """Yield each condition with the value for its `{}`; what looks at a claim also has `{now}`."""
    for column in ("priority", "milestone"):
        if (value := getattr(filters, column)) is not None:
            yield f"{column} = {{}}", value
    if filters.status == "open":
        yield _IS_OPEN, None
    elif filters.status is not None:
        yield f"status = {{}} and not {_CLAIM_LAPSED}", filters.status
    elif not filters.include_done:
        yield "closed = 0", None
    if filters.assigned_to is not None:
        yield (_IS_ASSIGNED, filters.assigned_to) if filters.assigned_to else (_IS_UNASSIGNED, None)
    if filters.tag is not None:
        yield "replace(tags, {}, '') <> tags", msgspec.json.encode(filters.tag).decode()
    if filters.ready_for is not None:
        yield f"{_IS_OPEN} and ({_IS_UNASSIGNED} or {_IS_ASSIGNED}) and waits = 0", filters.ready_for


async def filter_existing_ids(tx: Tx, project: str, items: Sequence[str]) -> set[str]:
    rows = await tx.all("select id from backlog where project = $1 and id = any($2)", project, list(items))
    return {row["id"] for row in rows}


async def update_item(tx: Tx, row: Row, values: Mapping[str, Any], now: int) -> Row | None:
    """Update the item; return None if its version changed since it was read."""
    version = row["version"]
    updated = await BACKLOG.update(
        tx, row, {**values, "updated_at": now, "version": version + 1}, version=version
    )
    if updated is not None and updated["closed"] != row["closed"]:
        await _count_waits(tx, row["project"], await _list_needing(tx, row["project"], row["id"]))
    return updated


async def _list_needing(tx: Tx, project: str, item: str) -> list[str]:
    rows = await tx.all("select item from backlog_need where project = $1 and needs = $2", project, item)
    return [row["item"] for row in rows]


async def _count_waits(tx: Tx, project: str, items: Sequence[str]) -> None:
    """Count again how many open items these depend on; the caller holds the backlog lock."""
    if items:
        await tx.queue(
            "update backlog set waits = (select count(*) from backlog_need join backlog as needed"
            "  on needed.project = $1 and needed.id = backlog_need.needs where backlog_need.project = $1"
            "  and backlog_need.item = backlog.id and needed.closed = 0)"
            " where project = $1 and id = any($2)",
            project,
            list(items),
        )


async def reassign_open_items(tx: Tx, rename: AgentRename) -> None:
    """Assign the open items of an agent to its new name; those that the renamed sessions claim in any case."""
    await tx.queue(
        "update backlog set assigned_to = $3, updated_at = $4, version = version + 1"
        " where project = $1 and assigned_to = $2 and closed = 0 and ($5 = 1 or claim_session = any($6))",
        rename.project,
        rename.old,
        rename.new,
        rename.now,
        int(rename.moves_agent),
        rename.sessions,
    )


async def update_claim(tx: Tx, row: Row, values: Mapping[str, Any]) -> Row:
    """Give the claim to another session of the same agent; the item is not another version for it."""
    updated = await tx.one(
        "update backlog set claim_project = $3, claim_session = $4, claimed_until = $5 where project = $1 and id = $2"
        f" returning {BACKLOG.columns}",
        *(row["project"], row["id"]),
        *(values["claim_project"], values["claim_session"], values["claimed_until"]),
    )
    return updated or row


async def insert_claim(tx: Tx, claim_project: str, session: str, project: str, item: str) -> None:
    """Record that a session claims an item; a row whose claim has passed to another does no harm."""
    await tx.queue(
        "insert into backlog_claim (project, session, item_project, item) values ($1, $2, $3, $4)"
        " on conflict (project, session, item_project, item) do nothing",
        *(claim_project, session, project, item),
    )


async def list_claimed_ids(tx: Tx, claim_project: str, session: str) -> dict[str, list[str]]:
    """Return the ids of what the session has claimed, by the project of the item."""
    return group_claimed_ids(await tx.all(CLAIMS_OF_SESSION, claim_project, session))


def group_claimed_ids(claims: Sequence[Row]) -> dict[str, list[str]]:
    items_by_project: dict[str, list[str]] = {}
    for row in claims:
        items_by_project.setdefault(row["item_project"], []).append(row["item"])
    return items_by_project


async def list_claimed_items(tx: Tx, project: str, items: Sequence[str], session: str) -> Sequence[Row]:
    """List those of the items that the session still has."""
    return await tx.all(
        f"select {BACKLOG.columns} from backlog where project = $1 and id = any($2) and claim_session = $3 order by n",
        project,
        list(items),
        session,
    )


async def extend_claims(tx: Tx, project: str, items: Sequence[str], session: str, now: int) -> None:
    """Extend claims that have run for a while; each call asks for it, and most need not write."""
    await tx.queue(
        "update backlog set claimed_until = $4 where project = $1 and id = any($2) and claim_session = $3"
        " and claimed_until < $5",
        project,
        list(items),
        session,
        now + CLAIM_LIFETIME,
        now + CLAIM_LIFETIME - _EXTENSION_INTERVAL,
    )


async def delete_claims_of_session(tx: Tx, claim_project: str, session: str) -> dict[str, list[str]]:
    """Forget what the session has claimed; return the ids by the project of the item."""
    rows = await tx.all(
        "delete from backlog_claim where project = $1 and session = $2 returning item_project, item",
        claim_project,
        session,
    )
    return group_claimed_ids(sorted(rows, key=lambda row: (row["item_project"], row["item"])))


async def move_claims(tx: Tx, session: AgentSession, earlier: Sequence[str]) -> None:
    """Give the session what earlier ones of its agent have claimed: its calls renew the claims from now on."""
    for former in earlier:
        for project, items in (await list_claimed_ids(tx, session.project, former)).items():
            await tx.queue(
                "update backlog set claim_session = $4 where project = $1 and id = any($2) and claim_session = $3",
                *(project, items, former, session.id),
            )
        await tx.queue(
            "insert into backlog_claim (project, session, item_project, item)"
            " select project, cast($3 as text), item_project, item from backlog_claim"
            " where project = $1 and session = $2 on conflict (project, session, item_project, item) do nothing",
            *(session.project, former, session.id),
        )
        await delete_claims_of_session(tx, session.project, former)


async def insert_changes(
    tx: Tx, row: Row, changes: Mapping[str, tuple[str, str]], agent: str, now: int
) -> None:
    """Record what this version changed."""
    await tx.many(
        _INSERT_CHANGE,
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


async def list_editors(tx: Tx, project: str, item: str) -> list[str]:
    """The agents that changed the item, or commented on it."""
    rows = await tx.all(
        "select distinct agent from backlog_change where project = $1 and item = $2 and agent <> '' order by agent limit 50",
        project,
        item,
    )
    return [row["agent"] for row in rows]


async def list_dependencies(tx: Tx, project: str, items: Sequence[str]) -> Sequence[Row]:
    """List what these items depend on, and whether each dependency is closed."""
    return await tx.all(_SELECT_NEEDS, project, list(items)) if items else []


async def replace_dependencies(tx: Tx, project: str, item: str, dependencies: Sequence[str]) -> None:
    await tx.queue("delete from backlog_need where project = $1 and item = $2", project, item)
    await tx.many(
        "insert into backlog_need (project, item, needs) values ($1, $2, $3)",
        [(project, item, dependency) for dependency in dependencies],
    )
    await _count_waits(tx, project, [item])


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


async def list_open_dependencies(tx: Tx, project: str, item: str) -> list[str]:
    return [need["needs"] for need in await list_dependencies(tx, project, [item]) if not need["closed"]]


async def list_dependents(tx: Tx, project: str, item: str) -> Sequence[Row]:
    """List the open items that depend on this one, and for how many each still waits."""
    return await tx.all(
        "select project, id, title, status, assigned_to, created_by, deferred_reason, waits from backlog"
        " where project = $1 and closed = 0 and id in"
        " (select item from backlog_need where project = $1 and needs = $2) order by rank, created_at, n limit 200",
        project,
        item,
    )


async def list_closed_dependencies(tx: Tx, project: str, item: str) -> Sequence[Row]:
    """List what this item depended on and who closed it."""
    return await tx.all(
        "select id, title, completed_by from backlog where project = $1 and closed = 1 and id in"
        " (select needs from backlog_need where project = $1 and item = $2) order by id limit 50",
        project,
        item,
    )


async def list_own_and_ready_items(tx: Tx, project: str, agent: str, limit: int, now: int) -> list[Row]:
    """List the open items that the agent has or had claimed, then those that it could claim, each by priority.

    Each part is read by an index of its own, so that the cost does not grow with the backlog.
    """
    items = f"select {BACKLOG.columns} from backlog where project = $1 and closed = 0"
    own, had, ready, lapsed = await tx.together(
        (f"{items} and assigned_to = $2 {_ORDER} limit $3", project, agent, limit),
        (
            f"{items} and was_claimed_by = $2 and was_claimed_by <> '' {_ORDER} limit $3",
            *(project, agent, limit),
        ),
        (f"{items} and status = 'open' and assigned_to = '' and waits = 0 {_ORDER} limit $2", project, limit),
        (
            f"{items} and claim_session <> '' and claimed_until <= $2 order by claimed_until limit $3",
            *(project, now, limit),
        ),
    )
    free = [
        row for row in lapsed if row["claim_assigned"] and row["assigned_to"] != agent and not row["waits"]
    ]
    others = sorted([*ready, *free], key=lambda row: (row["rank"], row["created_at"], row["n"]))
    given_back = [row for row in had if row["status"] == "open" and not row["assigned_to"]]
    return list({row["id"]: row for row in [*own, *given_back, *others]}.values())[:limit]


async def list_filed_items(tx: Tx, project: str, agent: str, limit: int, now: int) -> Sequence[Row]:
    """List the open items that the agent filed last and that others have or that are blocked, the last changed first."""
    rows = await tx.all(
        f"select {BACKLOG.columns} from backlog where project = $1 and closed = 0 and created_by = $2"
        " order by updated_at desc, n limit $3",
        *(project, agent, limit),
    )
    return [row for row in rows if not _is_own_or_ready(row, agent, now)]


def _is_own_or_ready(row: Row, agent: str, now: int) -> bool:
    item = with_lapsed_claim(row, now)
    may_begin = item["was_claimed_by"] == agent or not item["waits"]
    return item["assigned_to"] == agent or (
        item["assigned_to"] == "" and item["status"] == "open" and may_begin
    )


async def move_item_rows(tx: Tx, row: Row, target: str, n: int, now: int) -> Row:
    """Copy the item with its history to another project and delete it here.

    A row's project cannot be updated where it is the distribution column (Citus).
    """
    moved = await BACKLOG.insert(
        tx, {**row, "project": target, "n": n, "waits": 0, "updated_at": now, "version": row["version"] + 1}
    )
    changes = await list_changes(tx, row["project"], row["id"])
    await tx.many(
        _INSERT_CHANGE,
        [
            (
                target,
                row["id"],
                *(each[name] for name in ("version", "field", "before", "after", "agent", "at")),
            )
            for each in changes
        ],
    )
    for table, column in (
        ("backlog_change", "item"),
        ("backlog_need", "item"),
        ("backlog_need", "needs"),
        ("backlog", "id"),
    ):
        await tx.queue(f"delete from {table} where project = $1 and {column} = $2", row["project"], row["id"])
    return moved
