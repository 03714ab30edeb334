"""SQL of the function registry; every write updates the search index too."""

import secrets
from collections.abc import Mapping, Sequence

from commonplace.rooms.functions import model
from commonplace.search import index
from commonplace.store.database import Row, Tx, Value

FUNCTION_KIND = "function"
_split_words = str.split
_COLUMN_NAMES = _split_words(
    "project id file name short line end_line kind language state signature body digest scanned complexity code purpose"
    " gotchas prefer_over requires described_by described_at described_signature described_body moved_from analysis"
    " enriched_by enriched_at enriched_signature enriched_body queued created_at updated_at"
)
_ALL_COLUMNS = ", ".join(_COLUMN_NAMES)
_UPSERT = (
    f"insert into function ({_ALL_COLUMNS}) values ({', '.join(f'${n}' for n in range(1, len(_COLUMN_NAMES) + 1))})"
    " on conflict (project, id) do update set "
    + ", ".join(
        f"{name} = excluded.{name}" for name in _COLUMN_NAMES if name not in ("project", "id", "created_at")
    )
)


def new_function_id() -> str:
    return f"func_{secrets.token_hex(6)}"


async def upsert_functions(tx: Tx, changes: Sequence[tuple[Row | None, Mapping[str, Value]]]) -> None:
    """Upsert each (old row, new row), and reindex those whose indexed text changed."""
    after = [{**row, "queued": model.queue_rank(row)} for _, row in changes]
    await tx.many(_UPSERT, [[row[name] for name in _COLUMN_NAMES] for row in after])
    unindexed = [row for row in after if _is_unsearchable(row)]
    for project in {str(row["project"]) for row in unindexed}:
        await index.remove_entries(
            tx, project, FUNCTION_KIND, [str(row["id"]) for row in unindexed if row["project"] == project]
        )
    reindexed = [
        row
        for (before, _), row in zip(changes, after, strict=True)
        if not _is_unsearchable(row)
        and (before is None or _is_unsearchable(before) or _indexed_texts(before) != _indexed_texts(row))
    ]
    await index.put_entries(tx, [_build_index_entry(row) for row in reindexed])


def _is_unsearchable(row: Row) -> bool:
    """Gone functions leave the index, except described ones: their readers must learn that they are gone."""
    return row["state"] == "gone" and not model.is_described(row)


def _indexed_texts(row: Row) -> tuple[str, str]:
    return str(row["name"]), model.search_text(row)


def _build_index_entry(row: Row) -> index.IndexEntry:
    return index.IndexEntry(
        row["project"],
        FUNCTION_KIND,
        row["id"],
        "function_ref",
        row["name"],
        model.search_text(row),
        row["updated_at"],
    )


async def update_lines(tx: Tx, project: str, lines: Sequence[tuple[str, str, int, int]]) -> None:
    await tx.many(
        "update function set line = $4, end_line = $5 where project = $1 and file = $2 and name = $3",
        [(project, *line) for line in lines],
    )


async def insert_function_text(tx: Tx, row: Row) -> None:
    """Keep what was said of the function, unless nobody has described it."""
    if not row["described_by"]:
        return
    await tx.run(
        "insert into function_text (project, id, described_at, described_by, purpose, gotchas, prefer_over, requires)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (project, id, described_at) do nothing",
        *(row["project"], row["id"], row["described_at"], row["described_by"]),
        *(row["purpose"], row["gotchas"], row["prefer_over"], row["requires"]),
    )


async def list_function_texts(tx: Tx, project: str, function_id: str) -> Sequence[Row]:
    return await tx.all(
        "select described_at, described_by, purpose, gotchas, prefer_over, requires from function_text"
        " where project = $1 and id = $2 order by described_at desc limit 50",
        project,
        function_id,
    )


async def load_functions(tx: Tx, project: str, ids: Sequence[str]) -> dict[str, Row]:
    rows = await tx.all(
        f"select {_ALL_COLUMNS} from function where project = $1 and id = any($2)", project, list(ids)
    )
    return {row["id"]: row for row in rows}


async def list_functions_in_files(tx: Tx, project: str, files: Sequence[str]) -> Sequence[Row]:
    return await tx.all(
        f"select {_ALL_COLUMNS} from function where project = $1 and file = any($2) order by file, name",
        project,
        list(files),
    )


async def list_gone_functions(
    tx: Tx, project: str, shorts: Sequence[str], bodies: Sequence[str]
) -> Sequence[Row]:
    """List gone functions with one of these names and one of these body digests."""
    return await tx.all(
        f"select {_ALL_COLUMNS} from function where project = $1 and short = any($2) and body = any($3)"
        " and state = 'gone' order by updated_at desc, id limit 2000",
        project,
        list(shorts),
        list(bodies),
    )


async def list_queued_functions(tx: Tx, project: str, limit: int, offset: int) -> tuple[Sequence[Row], int]:
    """Return one page of the enrichment queue and its total."""
    total = await tx.one("select count(*) as n from function where project = $1 and queued > 0", project)
    rows = await tx.all(
        f"select {_ALL_COLUMNS} from function where project = $1 and queued > 0"
        " order by queued, complexity desc, file, name limit $2 offset $3",
        project,
        limit,
        offset,
    )
    return rows, int(total["n"]) if total else 0


async def list_function_digests(tx: Tx, project: str, after: tuple[str, str], limit: int) -> Sequence[Row]:
    return await tx.all(
        "select file, name, digest, line, end_line from function where project = $1 and state <> 'gone'"
        " and (file, name) > ($2, $3) order by file, name limit $4",
        project,
        *after,
        limit,
    )
