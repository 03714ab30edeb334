"""SQL of backlog items, their dependencies and their change history. Lists with filters: `listing_store.py`."""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from commonplace.agent_names import AgentRename
from commonplace.clock import MINUTE
from commonplace.file_region import split_region
from commonplace.identity.session import AgentSession
from commonplace.rooms.backlog.model import CLAIM_LIFETIME, PRIORITY_RANKS, encode_texts
from commonplace.store.database import Row, Tx

_EDITABLE_COLUMNS = (
    "title, description, priority, rank, status, closed, assigned_to, milestone, deferred_reason, resolution,"
    " completed_by, completed_at, claim_project, claim_session, claim_assigned, claimed_until, was_claimed_by,"
    " was_claimed_until"
)
_CREATION_COLUMNS = "tags, created_by, created_at"
_COLUMNS_AFTER_PROJECT = f"id, n, {_EDITABLE_COLUMNS}, {_CREATION_COLUMNS}, updated_at, version"
ITEM_COLUMNS = f"project, {_COLUMNS_AFTER_PROJECT}"
_SELECT_ITEMS = f"select {ITEM_COLUMNS} from backlog where project = $1 and id = any($2)"
_SELECT_NEEDS = (
    "select backlog_need.item, backlog_need.needs, backlog.closed from backlog_need"
    " join backlog on backlog.project = backlog_need.project and backlog.id = backlog_need.needs"
    " where backlog_need.project = any($1) and backlog_need.item = any($2) order by backlog.n"
)
CLAIMS_OF_SESSION = "select item_project, item from backlog_claim where project = $1 and session = $2 order by item_project, item"
_EXTENSION_INTERVAL = MINUTE
CLAIM_LAPSED = "(claim_session <> '' and claimed_until <= {now})"
IS_BLOCKED = (
    "exists (select 1 from backlog_need join backlog as needed"
    " on needed.project = backlog_need.project and needed.id = backlog_need.needs"
    " where backlog_need.project = backlog.project and backlog_need.item = backlog.id and needed.closed = 0)"
)
_LAPSED_AT_BOOT = CLAIM_LAPSED.format(now="$4")
_IS_OWN_OR_READY = (
    f"(assigned_to = $2 or ((assigned_to = '' or claim_assigned = 1 and {_LAPSED_AT_BOOT})"
    f" and (status = 'open' or {_LAPSED_AT_BOOT}) and (was_claimed_by = $2 or not {IS_BLOCKED})))"
)
_SELECT_OWN_OR_READY = (
    f"select {ITEM_COLUMNS} from backlog where project = $1 and closed = 0 and {_IS_OWN_OR_READY}"
    " order by case when assigned_to = $2 or was_claimed_by = $2 then 0 else 1 end, rank, created_at, n limit $3"
)
_SELECT_OPEN_NEEDS_OF_AGENT = (
    "select backlog_need.item, backlog_need.needs, 0 as closed from backlog"
    " join backlog_need on backlog_need.project = backlog.project and backlog_need.item = backlog.id"
    " join backlog as needed on needed.project = backlog.project and needed.id = backlog_need.needs"
    " where backlog.project = $1 and (backlog.assigned_to = $2 or backlog.was_claimed_by = $2) and backlog.closed = 0"
    " and needed.closed = 0 order by needed.n limit $3"
)


async def insert_item(
    tx: Tx, project: str, n: int, fields: Mapping[str, str], tags: Sequence[str], agent: str, now: int
) -> Row:
    row = await tx.one(
        f"insert into backlog (project, {_COLUMNS_AFTER_PROJECT}) values ($1, $2, $3, $4, $5, $6, $7,"
        " case when cast($10 as text) = '' then 'open' else 'deferred' end, 0, $8, $9, cast($10 as text), '', '', null,"
        f" '', '', 0, null, '', null, $11, $12, $13, $13, 1) returning {ITEM_COLUMNS}",
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
    return await tx.one(f"select {ITEM_COLUMNS} from backlog where project = $1 and id = $2", project, item)


async def load_items(tx: Tx, project: str, items: Sequence[str]) -> Sequence[Row]:
    return await tx.all(_SELECT_ITEMS, project, list(items))


async def load_items_with_needs(
    tx: Tx, project: str, items: Sequence[str]
) -> tuple[Sequence[Row], Sequence[Row]]:
    """Return the items, and what they depend on as `list_dependencies` does."""
    rows, needs = await tx.together(
        (_SELECT_ITEMS, project, list(items)), (_SELECT_NEEDS, [project], list(items))
    )
    return rows, needs


async def filter_existing_ids(tx: Tx, project: str, items: Sequence[str]) -> set[str]:
    rows = await tx.all("select id from backlog where project = $1 and id = any($2)", project, list(items))
    return {row["id"] for row in rows}


async def update_item(tx: Tx, row: Row, values: Mapping[str, Any], now: int) -> Row | None:
    """Update the item; return None if its version changed since it was read."""
    return await tx.one(
        "update backlog set title = $5, description = $6, priority = $7, rank = $8, status = $9, closed = $10,"
        " assigned_to = $11, milestone = $12, deferred_reason = $13, resolution = $14, completed_by = $15,"
        " completed_at = $16, claim_project = $17, claim_session = $18, claim_assigned = $19, claimed_until = $20,"
        " was_claimed_by = $21, was_claimed_until = $22,"
        " updated_at = $4, version = version + 1 where project = $1 and id = $2 and version = $3"
        f" returning {ITEM_COLUMNS}",
        *(row["project"], row["id"], row["version"], now),
        *(values[column] for column in _EDITABLE_COLUMNS.split(", ")),
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
        f" returning {ITEM_COLUMNS}",
        *(row["project"], row["id"]),
        *(values["claim_project"], values["claim_session"], values["claimed_until"]),
    )
    return updated or row


async def insert_claim(
    tx: Tx, claim_project: str, session: str, project: str, item: str, files: Sequence[str]
) -> None:
    """Record that a session claims an item; a row whose claim has passed to another does no harm."""
    await tx.queue(
        "insert into backlog_claim (project, session, item_project, item, files) values ($1, $2, $3, $4, $5)"
        " on conflict (project, session, item_project, item) do update set files = excluded.files",
        *(claim_project, session, project, item, encode_texts(list(files))),
    )


async def list_claims_with_files(tx: Tx, project: str, session: str, now: int, limit: int) -> Sequence[Row]:
    """List the live claims of other sessions on items that name files."""
    return await tx.all(
        "select backlog.id, backlog.title, backlog.assigned_to, backlog_claim.files from backlog_claim"
        " join backlog on backlog.project = backlog_claim.project and backlog.id = backlog_claim.item"
        " and backlog.claim_session = backlog_claim.session where backlog_claim.project = $1"
        " and backlog_claim.item_project = $1 and backlog_claim.session <> $2 and backlog_claim.files <> '[]'"
        " and backlog.claimed_until > $3 order by backlog.id limit $4",
        project,
        session,
        now,
        limit,
    )


async def list_known_paths(tx: Tx, project: str, limit: int) -> list[str]:
    """List the files that agents of the project have locked, and those that they touched last."""
    locked, touched = await tx.together(
        ("select path from lease where project = $1 order by token desc limit $2", project, limit),
        ("select path from touched where project = $1 order by at desc, path limit $2", project, limit),
    )
    return [split_region(row["path"])[0] for row in locked] + [row["path"] for row in touched]


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
        f"select {ITEM_COLUMNS} from backlog where project = $1 and id = any($2) and claim_session = $3 order by n",
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
            "insert into backlog_claim (project, session, item_project, item, files)"
            " select project, cast($3 as text), item_project, item, files from backlog_claim"
            " where project = $1 and session = $2 on conflict (project, session, item_project, item) do nothing",
            *(session.project, former, session.id),
        )
        await delete_claims_of_session(tx, session.project, former)


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


async def list_editors(tx: Tx, project: str, item: str) -> list[str]:
    """The agents that changed the item, or commented on it."""
    rows = await tx.all(
        "select distinct agent from backlog_change where project = $1 and item = $2 and agent <> '' order by agent limit 50",
        project,
        item,
    )
    return [row["agent"] for row in rows]


async def list_dependencies(tx: Tx, projects: Sequence[str], items: Sequence[str]) -> Sequence[Row]:
    """List what these items depend on, and whether each dependency is closed."""
    return await tx.all(_SELECT_NEEDS, list(projects), list(items))


async def replace_dependencies(tx: Tx, project: str, item: str, dependencies: Sequence[str]) -> None:
    await tx.queue("delete from backlog_need where project = $1 and item = $2", project, item)
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


async def list_open_dependencies(tx: Tx, project: str, item: str) -> list[str]:
    return [need["needs"] for need in await list_dependencies(tx, [project], [item]) if not need["closed"]]


async def list_dependents(tx: Tx, project: str, item: str) -> Sequence[Row]:
    """List the open items that depend on this one, and whether each is still blocked."""
    return await tx.all(
        f"select project, id, title, status, assigned_to, created_by, deferred_reason, case when {IS_BLOCKED} then 1 else 0 end as blocked from backlog"
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


async def list_own_or_ready_items(
    tx: Tx, project: str, agent: str, limit: int, now: int
) -> tuple[Sequence[Row], Sequence[Row]]:
    """List the open items that the agent has or had claimed, then those that it could claim; and what its own need."""
    rows, needs = await tx.together(
        (_SELECT_OWN_OR_READY, project, agent, limit, now),
        (_SELECT_OPEN_NEEDS_OF_AGENT, project, agent, limit),
    )
    return rows, needs


async def list_filed_items(tx: Tx, project: str, agent: str, limit: int, now: int) -> Sequence[Row]:
    """List the open items that the agent filed and that others have or that are blocked, the last changed first."""
    return await tx.all(
        f"select {ITEM_COLUMNS} from backlog where project = $1 and closed = 0 and created_by = $2"
        f" and not {_IS_OWN_OR_READY} order by updated_at desc, n limit $3",
        project,
        agent,
        limit,
        now,
    )


async def move_item_rows(tx: Tx, row: Row, target: str, n: int, now: int) -> Row:
    """Copy the item with its history to another project and delete it here.

    A row's project cannot be updated where it is the distribution column (Citus).
    """
    await tx.queue(
        f"insert into backlog (project, {_COLUMNS_AFTER_PROJECT}) select cast($3 as text), id, cast($4 as bigint), {_EDITABLE_COLUMNS}, {_CREATION_COLUMNS},"
        " cast($5 as bigint), version + 1 from backlog where project = $1 and id = $2",
        *(row["project"], row["id"], target, n, now),
    )
    await tx.queue(
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
        await tx.queue(f"delete from {table} where project = $1 and {column} = $2", row["project"], row["id"])
    return await load_item(tx, target, row["id"]) or {}
