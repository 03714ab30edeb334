"""PostgreSQL: a connection per query, read only, extended protocol, cursor, rollback, closed."""

import asyncio
from collections.abc import Sequence
from typing import Any

import asyncpg

from commonplace import errors
from commonplace.sqlguard import Checked, postgres_catalog
from commonplace.sqlguard.engines.rows import MOST_BYTES, MOST_CELL, Rows, said_no, unreachable
from commonplace.sqlguard.engines.target import QueryTarget

_CONNECT_SECONDS = 5
_CLOSE_SECONDS = 2
_IDLE_MILLISECONDS = 10_000
_SMALL = frozenset({"bool", "int2", "int4", "int8", "float4", "float8", "numeric", "oid"})
_TEXTS = frozenset({"text", "varchar", "bpchar"})

_RIGHTS = """
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


async def ask(database: QueryTarget, checked: Checked, most: int, parameters: Sequence[Any] = ()) -> Rows:
    connection = await _connected(database)
    try:
        transaction = connection.transaction(readonly=True)
        await transaction.start()
        await _step_down(connection)
        await postgres_catalog.confirm(connection, checked)
        rows = await _fetched(connection, checked, most, parameters)
        await transaction.rollback()
    except asyncpg.QueryCanceledError:
        raise TimeoutError from None
    except asyncpg.PostgresConnectionError:
        raise unreachable(database.name) from None
    except asyncpg.PostgresError as refused:
        raise _refusal(database.name, refused) from None
    except (OSError, asyncpg.InterfaceError):
        raise unreachable(database.name) from None
    else:
        return rows
    finally:
        await asyncio.shield(_closed(connection))


async def rights(database: QueryTarget) -> list[str]:
    """What the login may do beyond reading."""
    connection = await _connected(database)
    try:
        row = await connection.fetchrow(_RIGHTS)
    finally:
        await asyncio.shield(_closed(connection))
    return [name for name, holds in dict(row or {}).items() if holds]


async def _connected(database: QueryTarget) -> Any:
    milliseconds = int(database.timeout * 1000)
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
        raise unreachable(database.name) from None


async def _closed(connection: Any) -> None:
    """Waits for the cancel request of a query that was cut short, then leaves nothing behind."""
    try:
        await connection.close(timeout=_CLOSE_SECONDS)
    except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
        connection.terminate()


async def _step_down(connection: Any) -> None:
    """A superuser reads as the role that may only read; every login finds the system's names first."""
    await connection.execute(
        "select set_config('search_path', 'pg_catalog, ' || current_setting('search_path'), true)"
    )
    if connection.get_settings().is_superuser == "on":
        await connection.execute("set local role pg_read_all_data")


async def _fetched(connection: Any, checked: Checked, most: int, parameters: Sequence[Any]) -> Rows:
    statement = await connection.prepare(checked.sql)
    columns = statement.get_attributes()
    rows = Rows(most, [column.name for column in columns])
    if checked.wraps and columns:
        statement = await connection.prepare(_bounded(checked.sql, columns))
    cursor = await statement.cursor(*parameters)
    while batch := await cursor.fetch(rows.batch):
        for record in batch:
            if not rows.add(record):
                return rows
    return rows


def _bounded(sql: str, columns: Sequence[Any]) -> str:
    """The server cuts long values, so that one cell of a gigabyte never travels."""
    longest = min(MOST_CELL, max(256, MOST_BYTES // len(columns))) + 1
    names = [f"c{place}" for place in range(len(columns))]
    shown = [
        _cut(f"q.{name}", column.type.name, longest) for name, column in zip(names, columns, strict=True)
    ]
    return f"SELECT {', '.join(shown)} FROM ({sql}\n) AS q({', '.join(names)})"


def _cut(name: str, kind: str, longest: int) -> str:
    if kind in _SMALL:
        return name
    if kind in _TEXTS:
        return f"pg_catalog.left({name}, {longest})"
    if kind == "bytea":
        return f"pg_catalog.substr({name}, 1, {longest // 2})"
    return f"pg_catalog.left({name}::pg_catalog.text, {longest})"


def _refusal(name: str, refused: asyncpg.PostgresError) -> errors.Refusal:
    if refused.sqlstate in ("25006", "42501"):
        return errors.Forbidden(
            f"'{name}' refused: {refused.message}. ({refused.sqlstate})", hint="Agents only read here."
        )
    return said_no(name, refused.sqlstate, str(refused.message))
