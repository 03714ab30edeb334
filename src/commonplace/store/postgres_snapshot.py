"""A snapshot of a PostgreSQL store: one repeatable-read transaction on a connection without time limits.

On Citus the view is consistent on each node, not across nodes.
"""

import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

import asyncpg

from commonplace import errors
from commonplace.store.database import Kind
from commonplace.store.migrate import list_own_tables
from commonplace.store.postgres_errors import DRIVER_ERRORS, postgres_refusal
from commonplace.store.snapshot import LEDGER, ColumnType, StoredColumn, StoredTable, build_select, quote_name

_BATCH_BYTES = 2_000_000
_FIRST_BATCH_ROWS = 16
_MAX_BATCH_ROWS = 2000
_ADMIN_NAME = "commonplace-admin"
_TYPES: Final[dict[str, ColumnType]] = {
    "int8": "int",
    "text": "text",
    "bytea": "blob",
    "float8": "real",
    "halfvec": "vector",
}
# A generated or indexed form of another column: a restore computes it.
_COMPUTED_TYPES: Final = frozenset({"tsvector"})
_TABLES = (
    "select c.relname as table, a.attname as name, t.typname as type,"
    " coalesce(array_position(cast(string_to_array(cast(k.indkey as text), ' ') as int[]), cast(a.attnum as int)), 0) as key"
    " from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped"
    " join pg_type t on t.oid = a.atttypid left join pg_index k on k.indrelid = c.oid and k.indisprimary"
    " where c.relkind in ('r', 'p') and c.relnamespace = cast(current_schema() as regnamespace)"
    # Shards of Citus may lie beside the tables; extensions own tables too.
    " and c.relname !~ '_[0-9]{6,}$'"
    " and not exists (select 1 from pg_depend d where d.objid = c.oid and d.deptype = 'e')"
    " order by c.relname, a.attnum"
)
_BEGIN = (
    "begin isolation level repeatable read read only; set local statement_timeout = 0;"
    " set local idle_in_transaction_session_timeout = 0"
)


async def connect_without_limits(dsn: str, **settings: str) -> Any:
    """A connection for long work of an operator; servers do not count it as one of theirs."""
    try:
        return await asyncpg.connect(dsn, server_settings={"application_name": _ADMIN_NAME, **settings})
    except (*DRIVER_ERRORS, ValueError) as away:
        raise errors.Unavailable(
            f"PostgreSQL is not reachable ({type(away).__name__}).",
            hint="Check the address in --store, and that the server runs.",
        ) from away


class PostgresSnapshot:
    kind: Kind = "postgresql"

    def __init__(self, dsn: str, connection: Any) -> None:
        self._dsn, self._connection = dsn, connection

    @classmethod
    async def open(cls, dsn: str, **settings: str) -> "PostgresSnapshot":
        connection = await connect_without_limits(dsn, **settings)
        await connection.execute(_BEGIN)
        return cls(dsn, connection)

    async def schema_version(self) -> int:
        with self._refusals():
            if await self._connection.fetchval("select to_regclass($1)", LEDGER) is None:
                return 0
            return int(await self._connection.fetchval(f"select max(n) from {LEDGER}") or 0)

    async def tables(self) -> list[StoredTable]:
        columns: dict[str, list[StoredColumn]] = {}
        own = list_own_tables(self.kind)
        with self._refusals():
            for row in await self._connection.fetch(_TABLES):
                if row["table"] in own and row["type"] not in _COMPUTED_TYPES:
                    columns.setdefault(row["table"], []).append(
                        StoredColumn(row["name"], _TYPES[row["type"]], row["key"])
                    )
        return [StoredTable(table, tuple(found)) for table, found in columns.items()]

    async def rows(self, table: StoredTable) -> AsyncIterator[Sequence[Sequence[Any]]]:
        sql = build_select(
            table,
            [_select_column(column) for column in table.columns],
            [
                f'{quote_name(column.name)} collate "C"' if column.type == "text" else quote_name(column.name)
                for column in table.key
            ],
        )
        with self._refusals():
            cursor = await self._connection.cursor(sql)
            wanted = _FIRST_BATCH_ROWS
            while batch := await cursor.fetch(wanted):
                yield batch
                size = sum(len(value) for row in batch for value in row if isinstance(value, str | bytes))
                wanted = max(1, min(_MAX_BATCH_ROWS, _BATCH_BYTES * len(batch) // (size + 1)))

    async def count(self, table: str) -> int:
        with self._refusals():
            return int(await self._connection.fetchval(f"select count(*) from {quote_name(table)}"))

    async def close(self) -> None:
        await self._connection.close(timeout=10)

    @contextlib.contextmanager
    def _refusals(self) -> Any:
        try:
            yield
        except DRIVER_ERRORS as error:
            refusal = postgres_refusal(error, self._dsn)
            if refusal is None:
                raise
            raise refusal from error


def _select_column(column: StoredColumn) -> str:
    name = quote_name(column.name)
    return f"cast({name} as text)" if column.type == "vector" else name
