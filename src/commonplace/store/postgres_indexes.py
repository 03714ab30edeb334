"""Builds the indexes that migrations name on a PostgreSQL database in use, without stopping its writers.

`create index concurrently` runs outside of a transaction, so that the ledger of migrations cannot tell whether it
ended. The catalogue of PostgreSQL can: an index that is missing, or that an interrupted build left invalid, is built at
the next start. Several servers may do this at once; one builds, the others wait.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, Final

import asyncpg

from commonplace.store.database import Tx
from commonplace.store.migration_kinds import build_concurrently
from commonplace.store.postgres_connection import MIGRATION_TIMEOUTS, PostgresHosts
from commonplace.store.postgres_errors import DRIVER_ERRORS, postgres_refusal

_log = logging.getLogger(__name__)

_POLL_SECONDS: Final = 0.3
_STATES: Final = (
    "select c.relname as name, i.indisvalid as is_valid,"
    " exists (select 1 from pg_stat_progress_create_index p where p.index_relid = c.oid) as is_built_now"
    " from pg_index i join pg_class c on c.oid = i.indexrelid"
    " where c.relnamespace = cast(current_schema() as regnamespace)"
)


_PROGRESS: Final = (
    "select coalesce(sum(blocks_done), 0) as done, coalesce(sum(blocks_total), 0) as total"
    " from pg_stat_progress_create_index where datname = current_database()"
)


async def list_valid_indexes(tx: Tx) -> set[str]:
    return {row["name"] for row in await tx.all(_STATES) if row["is_valid"]}


async def measure_build_progress(tx: Tx) -> float:
    """How much of the indexes that are built at present is done, from 0 to 1."""
    row = await tx.one(_PROGRESS)
    return float(row["done"]) / float(row["total"]) if row and row["total"] else 0.0


async def build_missing_indexes(dsn: str, wanted: Mapping[str, str]) -> int:
    """Build those of these indexes, by name, that are not there or not valid; return how many."""
    try:
        settings = MIGRATION_TIMEOUTS.connection_settings(pooled=True)
        connection = await PostgresHosts(dsn).connect(**settings)
        try:
            return await _build_until_complete(connection, wanted)
        finally:
            await connection.close(timeout=10)
    except DRIVER_ERRORS as failure:
        raise postgres_refusal(failure, dsn) or failure from failure


async def _build_until_complete(connection: Any, wanted: Mapping[str, str]) -> int:
    built = 0
    while True:
        states = {row["name"]: row for row in await connection.fetch(_STATES)}
        missing = [name for name in wanted if name not in states or not states[name]["is_valid"]]
        if not missing:
            return built
        for name in missing:
            if name not in states:
                built += await _build_index(connection, name, wanted[name])
            elif not states[name]["is_built_now"]:
                _log.warning(
                    "an index is built again, since its build was interrupted", extra={"index": name}
                )
                await connection.execute(f"drop index concurrently if exists {name}")
        await asyncio.sleep(_POLL_SECONDS)


async def _build_index(connection: Any, name: str, statement: str) -> bool:
    """False if another server has begun to build it."""
    _log.info("an index is built beside the other work", extra={"index": name})
    try:
        await connection.execute(build_concurrently(statement))
    except (asyncpg.DuplicateTableError, asyncpg.UniqueViolationError) as other:
        if isinstance(other, asyncpg.UniqueViolationError) and other.table_name != "pg_class":
            raise
        return False
    return True
