"""Checklists and their items in the store."""

from collections.abc import Sequence

from commonplace.rooms.checklists.model import MOST_LISTS
from commonplace.store.database import Row, Tx

_REST = "name, created_by, created_at, updated_at"
_LIST = f"project, {_REST}"
_ITEM = "place, text, done, notes, added_by, added_at, checked_by, checked_at"


async def create(tx: Tx, project: str, name: str, agent: str, now: int) -> Row | None:
    """The list; none if there is one of that name."""
    return await tx.one(
        f"insert into checklist (project, {_REST}) values ($1, $2, $3, $4, $4) on conflict (project, name) do nothing"
        f" returning {_LIST}",
        project,
        name,
        agent,
        now,
    )


async def one(tx: Tx, project: str, name: str) -> Row | None:
    return await tx.one(f"select {_LIST} from checklist where project = $1 and name = $2", project, name)


async def touch(tx: Tx, project: str, name: str, now: int) -> Row | None:
    """The list, held until commit; none if there is none."""
    return await tx.one(
        f"update checklist set updated_at = $3 where project = $1 and name = $2 returning {_LIST}",
        project,
        name,
        now,
    )


async def items(tx: Tx, project: str, name: str) -> Sequence[Row]:
    return await tx.all(
        f"select {_ITEM} from checklist_item where project = $1 and checklist = $2 order by place",
        project,
        name,
    )


async def add_items(
    tx: Tx, project: str, name: str, first: int, texts: Sequence[str], agent: str, now: int
) -> None:
    await tx.many(
        f"insert into checklist_item (project, checklist, {_ITEM}) values ($1, $2, $3, $4, 0, '', $5, $6, '', null)",
        [(project, name, place, text, agent, now) for place, text in enumerate(texts, first)],
    )


async def check(
    tx: Tx, project: str, name: str, place: int, done: bool, notes: str | None, agent: str, now: int
) -> Row | None:
    return await tx.one(
        "update checklist_item set done = $4, checked_by = $5, checked_at = $6, notes = coalesce($7, notes)"
        f" where project = $1 and checklist = $2 and place = $3 returning {_ITEM}",
        *(project, name, place, int(done), agent, now, notes),
    )


async def delete(tx: Tx, project: str, name: str) -> int | None:
    """How many items went with it; none if there is no such list."""
    if not await tx.run("delete from checklist where project = $1 and name = $2", project, name):
        return None
    return await tx.run("delete from checklist_item where project = $1 and checklist = $2", project, name)


async def listed(tx: Tx, project: str) -> Sequence[Row]:
    return await tx.all(
        "select checklist.project, checklist.name, checklist.updated_at, count(checklist_item.place) as total,"
        " coalesce(sum(checklist_item.done), 0) as done, count(*) over () as lists from checklist"
        " left join checklist_item on checklist_item.project = checklist.project"
        " and checklist_item.checklist = checklist.name where checklist.project = $1"
        " group by checklist.project, checklist.name, checklist.updated_at"
        " order by checklist.updated_at desc, checklist.name limit $2",
        project,
        MOST_LISTS,
    )
