"""SQL that finds and replaces a text in every table of a project, whichever rooms there are."""

from collections.abc import Sequence

from commonplace.store.database import Kind, Row, Tx
from commonplace.store.row_hashes import ROW_HASH

# Sealed, compressed, encrypted or derived from other tables: `scrub.py` treats each of them in its own way.
_OTHER_TABLES = frozenset(
    {
        "audit",
        "audit_seal",
        "entry",
        "term",
        "term_change",
        "embedding",
        "embedding_queue",
        "words",
        "index_fill",
        "idempotency",
    }
    | {"archive_frame", "archive_body", "counter", "session_key", "session_passage"}
)
_SELECT_TEXT_COLUMNS: dict[Kind, str] = {
    "sqlite": (
        "select tables.name as name, columns.name as field from pragma_table_list as tables,"
        " pragma_table_info(tables.name) as columns where tables.schema = 'main' and tables.type = 'table'"
        " and lower(columns.type) = 'text' order by tables.name, columns.cid"
    ),
    "postgresql": (
        "select table_name as name, column_name as field from information_schema.columns"
        " join information_schema.tables using (table_schema, table_name)"
        " where table_schema = current_schema() and table_type = 'BASE TABLE' and data_type = 'text'"
        " and table_name !~ '_[0-9]{6,}$' order by table_name, ordinal_position"
    ),
}


async def list_text_columns(tx: Tx) -> dict[str, list[str]]:
    """The text columns of every table that has a project, but for the project itself."""
    columns: dict[str, list[str]] = {}
    for row in await tx.all(_SELECT_TEXT_COLUMNS[tx.kind]):
        columns.setdefault(row["name"], []).append(row["field"])
    return {
        table: [field for field in fields if field != "project"]
        for table, fields in columns.items()
        if "project" in fields and table not in _OTHER_TABLES and len(fields) > 1
    }


async def count_rows_with_text(tx: Tx, table: str, columns: Sequence[str], project: str, text: str) -> int:
    row = await tx.one(
        f"select count(*) as n from {table} where project = $1 and ({_holds_text(columns)})", project, text
    )
    return int(row["n"]) if row else 0


async def replace_text(
    tx: Tx, table: str, columns: Sequence[str], project: str, text: str, replacement: str, *, is_hashed: bool
) -> None:
    """Replace it everywhere in a table; a table with hashes of its rows (`is_hashed`) gets new ones in the background."""
    changes = ", ".join(f'"{column}" = replace("{column}", $2, $3)' for column in columns)
    if is_hashed:
        changes += f", {ROW_HASH} = null"
    await tx.run(
        f"update {table} set {changes} where project = $1 and ({_holds_text(columns)})",
        project,
        text,
        replacement,
    )


def _holds_text(columns: Sequence[str]) -> str:
    return " or ".join(f'replace("{column}", $2, \'\') <> "{column}"' for column in columns)


async def list_audit_details(tx: Tx, project: str, text: str) -> Sequence[Row]:
    return await tx.all(
        "select at, id, detail from audit where project = $1 and replace(detail, $2, '') <> detail",
        project,
        text,
    )


async def list_entries_with_word(tx: Tx, project: str, word: str) -> Sequence[Row]:
    """Index entries that count this word."""
    return await tx.all(
        "select kind, id from entry where project = $1 and replace(counts, $2, '') <> counts order by kind, id",
        project,
        word,
    )


async def delete_unused_terms(tx: Tx, project: str) -> None:
    """Forget words that no entry has any more."""
    await tx.run("delete from term where project = $1 and n <= 0", project)


async def delete_answers(tx: Tx, project: str) -> int:
    """Forget the stored answers of idempotency keys."""
    return await tx.run("delete from idempotency where project = $1", project)
