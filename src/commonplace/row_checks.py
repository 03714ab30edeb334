"""Compare stored rows with their hashes, and hash rows that have none, a batch at a time (`store/row_hashes.py`).

`commonplace doctor` checks page by page through an operation of the admin room; the background work of the server hashes.
"""

import logging
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from commonplace import access, errors
from commonplace.access import Caller
from commonplace.project import list_all_project_names
from commonplace.store.database import Tx
from commonplace.store.row_hashes import (
    ROW_HASH,
    HashedTable,
    find_projects_without_hashes,
    hash_some_rows,
    list_rows_after,
)

if TYPE_CHECKING:
    from commonplace.call import Calls

_log = logging.getLogger(__name__)


class RowPosition(msgspec.Struct, frozen=True, array_like=True):
    """The last row that was checked."""

    table: str
    project: str
    key: list[str | int]


@dataclass(slots=True)
class RowCheck:
    """What one page of rows was found to be."""

    checked: int = 0
    unhashed: int = 0
    damaged: list[str] = field(default_factory=list)
    next: str = ""
    """Where the next page begins; empty after the last row."""


async def check_rows(tx: Tx, caller: Caller, tables: tuple[HashedTable, ...], after: str) -> RowCheck:
    """Check the next batch of rows of a table and project that the caller may see."""
    position = _decode_position(after, tables) if after else RowPosition("", "", [])
    projects = sorted(filter(caller.sees_project, {access.SHARED, *await list_all_project_names(tx)}))
    names = [table.name for table in tables]
    for table in tables[names.index(position.table) if position.table else 0 :]:
        key: list[str | int] = position.key if table.name == position.table else []
        start = position.project if table.name == position.table else ""
        for project in (name for name in projects if name >= start):
            rows = await list_rows_after(
                tx, table, project, key if project == start else [], table.batch_rows
            )
            if rows:
                last = RowPosition(table.name, project, [rows[-1][column] for column in table.key])
                return RowCheck(
                    checked=len(rows),
                    unhashed=sum(row[ROW_HASH] is None for row in rows),
                    damaged=[table.describe_row(row) for row in rows if table.is_damaged(row)],
                    next=msgspec.json.encode(last).decode(),
                )
    return RowCheck()


def _decode_position(text: str, tables: tuple[HashedTable, ...]) -> RowPosition:
    try:
        position = msgspec.json.decode(text, type=RowPosition)
    except msgspec.MsgspecError:
        position = RowPosition("", "", [])
    table = next((table for table in tables if table.name == position.table), None)
    types = [int if column in table.number_keys else str for column in table.key] if table else []
    if not types or [type(value) for value in position.key] != types or "\0" in str(position):
        raise errors.Invalid(
            "`after` is not a position of this check.", hint="Pass `next` of the last reply."
        )
    return position


async def hash_rows_without_hash(calls: "Calls") -> int:
    """Hash every row that has no hash, each batch in a short transaction of its own; return how many."""
    hashed = 0
    for table in calls.catalogue.hashed_tables:
        while projects := await calls.database.read(partial(_find_projects, table=table)):
            before = hashed
            for project in projects:
                while rows := await calls.database.write(
                    partial(hash_some_rows, table=table, project=project)
                ):
                    hashed += rows
            if hashed == before:
                break  # another replica hashes these rows now
    if hashed:
        _log.info("rows hashed", extra={"rows": hashed})
    return hashed


async def _find_projects(tx: Tx, table: HashedTable) -> list[str]:
    return await find_projects_without_hashes(
        tx, table, ["", access.SHARED, *await list_all_project_names(tx)]
    )
