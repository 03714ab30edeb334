"""SQL of checklists and their items."""

import secrets
from collections.abc import Sequence

from commonplace.rooms.checklists.model import MAX_LISTED_CHECKLISTS
from commonplace.store.database import Row, Tx

_COLUMNS_AFTER_PROJECT = "name, id, created_by, created_at, updated_at"
_CHECKLIST_COLUMNS = f"project, {_COLUMNS_AFTER_PROJECT}"
_ITEM_COLUMNS = "place, text, done, notes, added_by, added_at, checked_by, checked_at"


async def insert_checklist(tx: Tx, project: str, name: str, agent: str, now: int) -> Row | None:
    """Create the list; return None if the name exists."""
    return await tx.one(
        f"insert into checklist (project, {_COLUMNS_AFTER_PROJECT}) values ($1, $2, $3, $4, $5, $5) on conflict (project, name) do nothing"
        f" returning {_CHECKLIST_COLUMNS}",
        project,
        name,
        f"checklist_{secrets.token_hex(6)}",
        agent,
        now,
    )


async def load_checklists(tx: Tx, project: str, checklist_ids: Sequence[str]) -> Sequence[Row]:
    return await tx.all(
        f"select {_CHECKLIST_COLUMNS} from checklist where project = $1 and id = any($2)",
        project,
        list(checklist_ids),
    )


async def list_items_of_lists(tx: Tx, project: str, names: Sequence[str]) -> Sequence[Row]:
    return await tx.all(
        f"select checklist, {_ITEM_COLUMNS} from checklist_item where project = $1 and checklist = any($2)"
        " order by checklist, place",
        project,
        list(names),
    )


async def load_checklist(tx: Tx, project: str, name: str) -> Row | None:
    return await tx.one(
        f"select {_CHECKLIST_COLUMNS} from checklist where project = $1 and name = $2", project, name
    )


async def lock_checklist(tx: Tx, project: str, name: str, now: int) -> Row | None:
    """Row-lock the list until commit, update its time and return it; None if it does not exist."""
    return await tx.one(
        f"update checklist set updated_at = $3 where project = $1 and name = $2 returning {_CHECKLIST_COLUMNS}",
        project,
        name,
        now,
    )


async def list_items(tx: Tx, project: str, name: str) -> Sequence[Row]:
    return await tx.all(
        f"select {_ITEM_COLUMNS} from checklist_item where project = $1 and checklist = $2 order by place",
        project,
        name,
    )


async def insert_items(
    tx: Tx, project: str, name: str, first_index: int, texts: Sequence[str], agent: str, now: int
) -> None:
    await tx.many(
        f"insert into checklist_item (project, checklist, {_ITEM_COLUMNS}) values ($1, $2, $3, $4, 0, '', $5, $6, '', null)",
        [(project, name, index, text, agent, now) for index, text in enumerate(texts, first_index)],
    )


async def update_checks(
    tx: Tx,
    project: str,
    name: str,
    indexes: Sequence[int],
    done: bool,
    notes: str | None,
    agent: str,
    now: int,
) -> Sequence[Row]:
    """Set the checks of these items, also those that are set already; notes are added to those of earlier checks."""
    rows = await tx.all(
        "update checklist_item set done = $4, checked_by = $5, checked_at = $6,"
        " notes = case when cast($7 as text) is null or notes = $7 then notes when notes = '' then $7"
        "  else notes || $8 || $7 end"
        f" where project = $1 and checklist = $2 and place = any($3) returning {_ITEM_COLUMNS}",
        *(project, name, list(indexes), int(done), agent, now, notes, "\n"),
    )
    return sorted(rows, key=lambda row: int(row["place"]))


async def delete_checklist_rows(tx: Tx, project: str, name: str) -> int:
    """Delete the list; return the number of its items."""
    await tx.run("delete from checklist where project = $1 and name = $2", project, name)
    return await tx.run("delete from checklist_item where project = $1 and checklist = $2", project, name)


async def list_checklist_rows(tx: Tx, project: str) -> Sequence[Row]:
    return await tx.all(
        "select checklist.project, checklist.name, checklist.updated_at, count(checklist_item.place) as total,"
        " coalesce(sum(checklist_item.done), 0) as done, count(*) over () as lists from checklist"
        " left join checklist_item on checklist_item.project = $1"
        " and checklist_item.checklist = checklist.name where checklist.project = $1"
        " group by checklist.project, checklist.name, checklist.updated_at"
        " order by checklist.updated_at desc, checklist.name limit $2",
        project,
        MAX_LISTED_CHECKLISTS,
    )
