"""PostgreSQL with asyncpg: one connection and one read-only transaction for each query, rolled back at the end."""

import asyncio
from collections.abc import Sequence
from typing import Any

import asyncpg

from commonplace import errors
from commonplace.sqlguard import CheckedStatement, postgres_catalog
from commonplace.sqlguard.engines.rows import (
    MAX_CELL_CHARACTERS,
    MAX_RESULT_BYTES,
    QueryRows,
    database_unreachable,
    query_refused,
)
from commonplace.sqlguard.engines.target import QueryTarget

_CONNECT_SECONDS = 5
_CLOSE_SECONDS = 2
_IDLE_MILLISECONDS = 10_000
_SHORT_TYPES = frozenset({"bool", "int2", "int4", "int8", "float4", "float8", "numeric", "oid"})
_TEXT_TYPES = frozenset({"text", "varchar", "bpchar"})

_SELECT_RIGHTS = """
select r.rolsuper as "is a superuser", r.rolbypassrls as "bypasses row security",
  r.rolcreaterole as "creates roles", r.rolcreatedb as "creates databases", r.rolreplication as "replicates",
  exists (select 1 from pg_catalog.pg_roles g where g.rolname in ('pg_read_server_files', 'pg_write_server_files',
    'pg_execute_server_program', 'pg_signal_backend', 'pg_write_all_data', 'pg_maintain')
    and not r.rolsuper and pg_has_role(r.oid, g.oid, 'USAGE')) as "is a member of a role that acts on the server",
  exists (select 1 from pg_catalog.pg_class c where c.relowner = r.oid) as "owns relations",
  exists (select 1 from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p', 'f') and n.nspname not in ('pg_catalog', 'information_schema')
    and not r.rolsuper and has_table_privilege(r.oid, c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE'))
    as "may change rows",
  exists (select 1 from pg_catalog.pg_namespace n where n.nspname not like 'pg\\_temp%'
    and not r.rolsuper and has_schema_privilege(r.oid, n.oid, 'CREATE')) as "may create objects"
from pg_catalog.pg_roles r where r.rolname = session_user
"""


async def run_postgresql_query(
    database: QueryTarget, checked: CheckedStatement, max_rows: int, parameters: Sequence[Any] = ()
) -> QueryRows:
    connection = await _open_connection(database)
    try:
        transaction = connection.transaction(readonly=True)
        await transaction.start()
        await _drop_privileges(connection)
        await postgres_catalog.confirm_by_catalog(connection, checked)
        rows = await _fetch_rows(connection, checked, max_rows, parameters)
        await transaction.rollback()
    except asyncpg.QueryCanceledError:
        raise TimeoutError from None
    except asyncpg.PostgresConnectionError:
        raise database_unreachable(database.name) from None
    except asyncpg.PostgresError as error:
        raise _refusal_from_error(database.name, error) from None
    except (OSError, asyncpg.InterfaceError):
        raise database_unreachable(database.name) from None
    else:
        return rows
    finally:
        await asyncio.shield(_close_connection(connection))


async def list_excess_postgresql_rights(database: QueryTarget) -> list[str]:
    """What the login may do besides reading."""
    connection = await _open_connection(database)
    try:
        row = await connection.fetchrow(_SELECT_RIGHTS)
    finally:
        await asyncio.shield(_close_connection(connection))
    return [name for name, holds in dict(row or {}).items() if holds]


async def _open_connection(database: QueryTarget) -> Any:
    milliseconds = int(database.timeout_seconds * 1000)
    try:
        return await asyncpg.connect(
            host=database.host,
            port=database.port,
            database=database.database,
            user=database.user or None,
            password=database.password or None,
            timeout=_CONNECT_SECONDS,
            statement_cache_size=0,
            server_settings={
                "application_name": "commonplace",
                "default_transaction_read_only": "on",
                "statement_timeout": str(milliseconds),
                "lock_timeout": "1000",
                "idle_in_transaction_session_timeout": str(max(milliseconds, _IDLE_MILLISECONDS)),
            },
        )
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError):
        raise database_unreachable(database.name) from None


async def _close_connection(connection: Any) -> None:
    """Waits for the cancel request of a query that was cut short, then leaves nothing behind."""
    try:
        await connection.close(timeout=_CLOSE_SECONDS)
    except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
        connection.terminate()


async def _drop_privileges(connection: Any) -> None:
    """A superuser reads as the role that may only read; every login finds the system's names first."""
    await connection.execute(
        "select set_config('search_path', 'pg_catalog, ' || current_setting('search_path'), true)"
    )
    if connection.get_settings().is_superuser == "on":
        await connection.execute("set local role pg_read_all_data")


async def _fetch_rows(
    connection: Any, checked: CheckedStatement, max_rows: int, parameters: Sequence[Any]
) -> QueryRows:
    statement = await connection.prepare(checked.sql)
    columns = statement.get_attributes()
    rows = QueryRows(max_rows, [column.name for column in columns])
    if checked.can_wrap and columns:
        statement = await connection.prepare(_bound_columns(checked.sql, columns))
    cursor = await statement.cursor(*parameters)
    while batch := await cursor.fetch(rows.batch_size):
        for record in batch:
            if not rows.add_row(record):
                return rows
    return rows


def _bound_columns(sql: str, columns: Sequence[Any]) -> str:
    """Let the server truncate long values, so that a cell of a gigabyte is never transferred."""
    max_characters = min(MAX_CELL_CHARACTERS, max(256, MAX_RESULT_BYTES // len(columns))) + 1
    names = [f"c{index}" for index in range(len(columns))]
    shown = [
        _bound_column(f"q.{name}", column.type.name, max_characters)
        for name, column in zip(names, columns, strict=True)
    ]
    return f"SELECT {', '.join(shown)} FROM ({sql}\n) AS q({', '.join(names)})"


def _bound_column(name: str, type_name: str, max_characters: int) -> str:
    if type_name in _SHORT_TYPES:
        return name
    if type_name in _TEXT_TYPES:
        return f"pg_catalog.left({name}, {max_characters})"
    if type_name == "bytea":
        return f"pg_catalog.substr({name}, 1, {max_characters // 2})"
    return f"pg_catalog.left({name}::pg_catalog.text, {max_characters})"


def _refusal_from_error(name: str, error: asyncpg.PostgresError) -> errors.Refusal:
    if error.sqlstate in ("25006", "42501"):
        return errors.Forbidden(
            f"'{name}' refused: {error.message}. ({error.sqlstate})",
            hint="Send a query that only reads what this login may read.",
        )
    return query_refused(name, error.sqlstate, str(error.message))
