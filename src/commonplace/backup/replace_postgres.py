"""Put a restored store in the place of the tables of a PostgreSQL database; the old tables move to a schema of their own.

The rows are loaded and compared in a staging schema. One transaction then moves the old tables out and the new ones in.
On Citus the new tables are local until `commonplace admin distribute` spreads them.
"""

import contextlib
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from commonplace import errors
from commonplace.backup.restore import Restoration
from commonplace.rooms.locks.store import FIRST_EPOCH
from commonplace.store.postgres import Postgres
from commonplace.store.postgres_connection import PostgresTimeouts
from commonplace.store.postgres_errors import DRIVER_ERRORS, postgres_refusal
from commonplace.store.postgres_snapshot import PostgresSnapshot, connect_without_limits
from commonplace.store.snapshot import Snapshot

_STAGING = "commonplace_restoring"
_KEPT_PREFIX = "commonplace_before_"
_PATIENT = PostgresTimeouts(30, 30, 3600, 3600, 3600, 3600)
_COUNT_SERVERS = "select count(*) from pg_stat_activity where datname = current_database() and application_name = 'commonplace'"
_OWN_TABLES = (
    "select c.relname from pg_class c where c.relkind in ('r', 'p') and c.relnamespace = cast($1 as regnamespace)"
    " and c.relname !~ '_[0-9]{6,}$'"
    " and not exists (select 1 from pg_depend d where d.objid = c.oid and d.deptype = 'e') order by c.relname"
)


async def replace_postgres(restoration: Restoration, dsn: str) -> str | None:
    """Restore into the database; returns the schema that has the old tables now, if there were any."""
    connection = await connect_without_limits(dsn)
    try:
        await _require_no_servers(connection)
        target = str(await connection.fetchval("select current_schema()"))
        epoch = await _read_epoch(connection)
        await connection.execute("create extension if not exists vector")
        await connection.execute(f"drop schema if exists {_STAGING} cascade")
        await connection.execute(f"create schema {_STAGING}")
        await _fill_staging(restoration, _with_search_path(dsn, f"{_STAGING},{target}"), epoch)
        await _require_no_servers(connection)
        async with connection.transaction():
            return await _swap_tables(connection, target, f"{_KEPT_PREFIX}{restoration.stamp.lower()}")
    except DRIVER_ERRORS as error:
        raise postgres_refusal(error, dsn) or error from error
    finally:
        # A lost connection must not hide why; the next restore drops what is left.
        with contextlib.suppress(*DRIVER_ERRORS):
            await connection.execute(f"drop schema if exists {_STAGING} cascade")
        await connection.close(timeout=10)


async def _require_no_servers(connection: Any) -> None:
    if servers := await connection.fetchval(_COUNT_SERVERS):
        raise errors.Conflict(
            f"Servers use this database ({servers} connections).", hint="Stop every server, then restore."
        )


async def _read_epoch(connection: Any) -> int:
    if await connection.fetchval("select to_regclass('setting')") is None:
        return FIRST_EPOCH
    return int(await connection.fetchval("select value from setting where name = 'epoch'") or FIRST_EPOCH)


async def _fill_staging(restoration: Restoration, dsn: str, epoch: int) -> None:
    async def open_snapshot() -> Snapshot:
        return await PostgresSnapshot.open(dsn)

    database = await Postgres.open(dsn, restoration.clock, pool=1, timeouts=_PATIENT)
    try:
        await restoration.fill(database, open_snapshot, epoch)
    finally:
        await database.close()


async def _swap_tables(connection: Any, target: str, kept: str) -> str | None:
    old = [row[0] for row in await connection.fetch(_OWN_TABLES, f'"{target}"')]
    new = [row[0] for row in await connection.fetch(_OWN_TABLES, _STAGING)]
    moved = [name for name in old if name in new]
    if moved:
        await connection.execute(f"create schema {kept}")
    for name in moved:
        await connection.execute(f'alter table "{target}"."{name}" set schema {kept}')
    for name in new:
        await connection.execute(f'alter table {_STAGING}."{name}" set schema "{target}"')
    return kept if moved else None


def _with_search_path(dsn: str, path: str) -> str:
    """The address with another search path; it overrides one that the address has."""
    parts = urlsplit(dsn)
    query = [(name, value) for name, value in parse_qsl(parts.query) if name != "search_path"]
    return urlunsplit(parts._replace(query=urlencode([*query, ("search_path", path)], quote_via=quote)))
