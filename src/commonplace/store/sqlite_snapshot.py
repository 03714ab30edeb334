"""A snapshot of a SQLite store: one read transaction on a connection of its own, beside the server's.

In WAL mode a reader blocks no writer; while it runs, the write-ahead log cannot be reset and grows.
"""

import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, Final

import apsw

from commonplace import errors
from commonplace.store.database import Kind
from commonplace.store.migrate import list_own_tables
from commonplace.store.snapshot import LEDGER, ColumnType, StoredColumn, StoredTable, build_select, quote_name
from commonplace.store.sqlite_errors import sqlite_refusal

_BATCH_ROWS = 500
_BUSY_MILLISECONDS = 10_000
_TYPES: Final[dict[str, ColumnType]] = {"INTEGER": "int", "TEXT": "text", "BLOB": "blob", "REAL": "real"}
_TABLES = (
    "select tables.name, columns.name, columns.type, columns.pk"
    " from pragma_table_list as tables, pragma_table_info(tables.name) as columns"
    " where tables.schema = 'main' and tables.type = 'table' and tables.name not like 'sqlite\\_%' escape '\\'"
    " order by tables.name, columns.cid"
)


class SqliteSnapshot:
    kind: Kind = "sqlite"

    def __init__(self, file: Path) -> None:
        if not file.exists() or not file.stat().st_size:
            raise errors.NotFound(
                f"There is no database at {file}.", hint="Name the server's data folder with --data DIR."
            )
        self._file = file
        with self._refusals():
            self._connection = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READWRITE)
            self._connection.set_busy_timeout(_BUSY_MILLISECONDS)
            self._connection.execute("pragma query_only=on")
            self._connection.execute("begin")
            # The view is taken by the first read.
            self._connection.execute("select count(*) from sqlite_schema").fetchall()

    async def schema_version(self) -> int:
        with self._refusals():
            known = self._connection.execute("select 1 from sqlite_schema where name = ?", (LEDGER,)).get
            return int(self._connection.execute(f"select max(n) from {LEDGER}").get or 0) if known else 0

    async def tables(self) -> list[StoredTable]:
        columns: dict[str, list[StoredColumn]] = {}
        own = list_own_tables(self.kind)
        with self._refusals():
            for table, name, kind, key_position in self._connection.execute(_TABLES):
                if table not in own:
                    continue
                columns.setdefault(table, []).append(StoredColumn(name, _TYPES[kind], key_position))
        return [StoredTable(table, tuple(found)) for table, found in columns.items()]

    async def rows(self, table: StoredTable) -> AsyncIterator[Sequence[Sequence[Any]]]:
        names = [quote_name(column.name) for column in table.columns]
        with self._refusals():
            cursor = self._connection.execute(
                build_select(table, names, [quote_name(column.name) for column in table.key])
            )
            while batch := [row for _, row in zip(range(_BATCH_ROWS), cursor, strict=False)]:
                yield batch

    async def count(self, table: str) -> int:
        with self._refusals():
            return int(self._connection.execute(f"select count(*) from {quote_name(table)}").get)

    async def check_integrity(self) -> list[str]:
        """What SQLite finds wrong in the file; empty if nothing."""
        with self._refusals():
            found = [str(row[0]) for row in self._connection.execute("pragma integrity_check(20)")]
        return [] if found == ["ok"] else found

    async def close(self) -> None:
        self._connection.close()

    @contextlib.contextmanager
    def _refusals(self) -> Any:
        try:
            yield
        except (apsw.Error, UnicodeDecodeError) as error:
            broken = error if isinstance(error, apsw.Error) else apsw.CorruptError("stored text is not UTF-8")
            raise sqlite_refusal(broken, self._file) or broken from error
