"""Functions in the store; each write moves the index with it."""

import secrets
from collections.abc import Mapping, Sequence

from commonplace.rooms.functions import model
from commonplace.search import index
from commonplace.store.database import Row, Tx, Value

KIND = "function"
_words = str.split
_COLUMNS = _words(
    "project id file name short line end_line kind language state signature body digest scanned complexity code purpose"
    " gotchas prefer_over requires described_by described_at described_signature described_body moved_from analysis"
    " enriched_by enriched_at enriched_signature enriched_body queued created_at updated_at"
)
_ALL = ", ".join(_COLUMNS)
_PUT = (
    f"insert into function ({_ALL}) values ({', '.join(f'${n}' for n in range(1, len(_COLUMNS) + 1))})"
    " on conflict (project, id) do update set "
    + ", ".join(
        f"{name} = excluded.{name}" for name in _COLUMNS if name not in ("project", "id", "created_at")
    )
)


def made_id() -> str:
    return f"func_{secrets.token_hex(6)}"


async def put(tx: Tx, changes: Sequence[tuple[Row | None, Mapping[str, Value]]]) -> None:
    """Write each row as it is after its change, and index those that are found by other words than before."""
    after = [{**row, "queued": model.queued(row)} for _, row in changes]
    await tx.many(_PUT, [[row[name] for name in _COLUMNS] for row in after])
    forgotten = [row for row in after if _is_forgotten(row)]
    for project in {str(row["project"]) for row in forgotten}:
        await index.remove(
            tx, project, KIND, [str(row["id"]) for row in forgotten if row["project"] == project]
        )
    indexed = [
        row
        for (before, _), row in zip(changes, after, strict=True)
        if not _is_forgotten(row)
        and (before is None or _is_forgotten(before) or _found_by(before) != _found_by(row))
    ]
    await index.put(tx, [_entry(row) for row in indexed])


def _is_forgotten(row: Row) -> bool:
    """Nobody looks for what is gone, unless somebody wrote about it and must learn that."""
    return row["state"] == "gone" and not model.is_described(row)


def _found_by(row: Row) -> tuple[str, str]:
    return str(row["name"]), model.searched(row)


def _entry(row: Row) -> index.Entry:
    return index.Entry(
        row["project"], KIND, row["id"], "function_ref", row["name"], model.searched(row), row["updated_at"]
    )


async def move_lines(tx: Tx, project: str, lines: Sequence[tuple[str, str, int, int]]) -> None:
    await tx.many(
        "update function set line = $4, end_line = $5 where project = $1 and file = $2 and name = $3",
        [(project, *each) for each in lines],
    )


async def by_ids(tx: Tx, project: str, ids: Sequence[str]) -> dict[str, Row]:
    rows = await tx.all(
        f"select {_ALL} from function where project = $1 and id = any($2)", project, list(ids)
    )
    return {row["id"]: row for row in rows}


async def in_files(tx: Tx, project: str, files: Sequence[str]) -> Sequence[Row]:
    return await tx.all(
        f"select {_ALL} from function where project = $1 and file = any($2) order by file, name",
        project,
        list(files),
    )


async def gone(tx: Tx, project: str, shorts: Sequence[str], bodies: Sequence[str]) -> Sequence[Row]:
    """What has one of these names and one of these bodies, and is no longer where it was."""
    return await tx.all(
        f"select {_ALL} from function where project = $1 and short = any($2) and body = any($3)"
        " and state = 'gone' order by updated_at desc, id limit 2000",
        project,
        list(shorts),
        list(bodies),
    )


async def waiting(tx: Tx, project: str, limit: int, offset: int) -> tuple[Sequence[Row], int]:
    """A page of the queue, and how many there are."""
    total = await tx.one("select count(*) as n from function where project = $1 and queued > 0", project)
    rows = await tx.all(
        f"select {_ALL} from function where project = $1 and queued > 0"
        " order by queued, complexity desc, file, name limit $2 offset $3",
        project,
        limit,
        offset,
    )
    return rows, int(total["n"]) if total else 0


async def page(tx: Tx, project: str, after: tuple[str, str], limit: int) -> Sequence[Row]:
    return await tx.all(
        "select file, name, digest, line, end_line from function where project = $1 and state <> 'gone'"
        " and (file, name) > ($2, $3) order by file, name limit $4",
        project,
        *after,
        limit,
    )


async def forget_gone(tx: Tx, before: int) -> None:
    """Rows that nobody described, of functions that are long gone; their index entries went when they did."""
    await tx.run(
        "delete from function where state = 'gone' and updated_at < $1"
        " and described_at is null and enriched_at is null -- every project",
        before,
    )
