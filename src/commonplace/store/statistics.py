"""Statistics for SQLite's query planner: those of a large store, from the first day.

Without any, SQLite reads a whole project where an index would find a row; with those of a small store it keeps
plans that do not fit when the store has grown. So they are written down once, as a large store would have them.
"""

from commonplace.store.database import Tx

_ASSUMED_ROWS = 1_000_000
_ROWS_PER_PROJECT = 10_000
_ROWS_PER_PREFIX = 10
# An index over some rows of a table is made because they are few.
_PARTIAL_SHARE = 100


async def write_large_statistics(tx: Tx) -> None:
    # Only creates sqlite_stat1: a whole ANALYZE would read a large database, and SQLite would remember of a new one that
    # the postings of FTS5 are few, and read all of them with every later write, until the process ends.
    await tx.run("analyze schema_version")
    await tx.run("delete from sqlite_stat1")
    rows = await tx.all(
        'select tables.name as tbl, indexes.name as idx, indexes."unique" as one, indexes.origin as origin,'
        " indexes.partial as partial,"
        " (select count(*) from pragma_index_info(indexes.name)) as columns"
        " from pragma_table_list as tables join pragma_index_list(tables.name) as indexes"
        " where tables.schema = 'main' and tables.type = 'table'"
    )
    await tx.many(
        "insert into sqlite_stat1 (tbl, idx, stat) values ($1, $2, $3)",
        [
            (
                row["tbl"],
                row["tbl"] if row["origin"] == "pk" else row["idx"],
                _format_stat(row["columns"], row["one"], _PARTIAL_SHARE if row["partial"] else 1),
            )
            for row in rows
        ],
    )
    await tx.run("analyze sqlite_schema")


def _format_stat(columns: int, unique: int, share: int) -> str:
    """All rows, then the rows for one value of the first column, of the first two, and so on."""
    per_prefix = [_ROWS_PER_PROJECT, *[_ROWS_PER_PREFIX] * (columns - 1)][:columns]
    if unique:
        per_prefix[-1] = 1
    return " ".join(str(max(1, rows // share)) for rows in (_ASSUMED_ROWS, *per_prefix))
