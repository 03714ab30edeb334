"""Citus: which tables are spread over its nodes, by which column, and the steps that distribute them.

A new database is migrated as plain PostgreSQL and then distributed, one table per transaction; so is one that began
without Citus. Each step looks at what is done already, so that an interrupted run goes on where it stopped.
`migrate.py` calls this at start, `cli/admin.py` for an operator. The rules that the schema keeps for Citus are in
`tests/store/test_citus_rules.py`.
"""

import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, Literal

import asyncpg

from commonplace import errors
from commonplace.store.database import Database, Tx
from commonplace.store.postgres import Postgres
from commonplace.store.postgres_tx import PostgresTx

_log = logging.getLogger(__name__)

Placement = Literal["local", "reference", "distributed"]
Report = Callable[[str], None]

# Few rows, read by every project, changed rarely: a copy on every node.
REFERENCE_TABLES = frozenset({"project", "api_key", "setting"})
# A row for each blackboard or workspace, looked up by an id whose project is not known yet.
TABLES_BY_ID = frozenset({"context_session_place", "workspace_place"})
# The ledger of migrations stays where migrations run.
_COORDINATOR_TABLES = frozenset({"schema_version"})
_LOCK_NUMBER = 7341901

_STATES = (
    "select c.relname as name, cast(greatest(c.reltuples, 0) as bigint) as estimated_rows,"
    " pg_table_size(c.oid) as bytes, pg_relation_size(c.oid) as heap_bytes, {placement} as placement"
    " from pg_class c {join} where c.relkind = 'r' and c.relnamespace = cast(current_schema() as regnamespace)"
    " and c.relname !~ '_[0-9]{{6,}}$' and not exists (select 1 from pg_depend d where d.objid = c.oid and d.deptype = 'e') order by c.relname"
)
_PLAIN_STATES = _STATES.format(placement="'local'", join="")
_CITUS_STATES = _STATES.format(
    placement="case when p.logicalrelid is null then 'local' when p.partmethod = 'n' then 'reference'"
    " else 'distributed' end",
    join="left join pg_dist_partition p on p.logicalrelid = c.oid",
)


@dataclass(frozen=True)
class TableState:
    """A table of ours, and what Citus knows about it. Rows and bytes are those of the coordinator."""

    name: str
    estimated_rows: int
    bytes: int
    heap_bytes: int
    placement: Placement

    @property
    def wanted_placement(self) -> Placement:
        return "reference" if self.name in REFERENCE_TABLES else "distributed"

    @property
    def distribution_column(self) -> str:
        return "id" if self.name in TABLES_BY_ID else "project"

    @property
    def has_local_copy(self) -> bool:
        """Citus copies the rows to the shards and leaves the old ones on the coordinator's disk."""
        return self.placement != "local" and self.heap_bytes > 0

    def to_text(self) -> str:
        size = f"about {self.estimated_rows} rows, {self.bytes // 1024} KB" if self.heap_bytes else "empty"
        how = (
            "a copy on every node"
            if self.wanted_placement == "reference"
            else f"by {self.distribution_column}"
        )
        return f"{self.name} ({size}): {how}"


async def has_citus(tx: Tx) -> bool:
    return await tx.one("select 1 as yes from pg_extension where extname = 'citus'") is not None


async def is_distributed(tx: Tx) -> bool:
    """Whether any of our tables is distributed."""
    if tx.kind != "postgresql" or not await has_citus(tx):
        return False
    return any(table.placement == "distributed" for table in await list_table_states(tx))


async def list_table_states(tx: Tx) -> list[TableState]:
    """Every table that belongs on the nodes, reference tables first."""
    rows = await tx.all(_CITUS_STATES if await has_citus(tx) else _PLAIN_STATES)
    tables = [TableState(**row) for row in rows if row["name"] not in _COORDINATOR_TABLES]
    return sorted(tables, key=lambda table: (table.wanted_placement == "distributed", table.name))


async def use_one_connection_per_node(tx: Tx) -> None:
    """In this transaction. Citus refuses to create an extension or to change tables after parallel work."""
    await tx.run("set local citus.multi_shard_modify_mode = 'sequential'")


async def distribute_table(tx: Tx, name: str) -> bool:
    """Distribute one table, with its rows; False if it was done before."""
    await tx.run(f"select pg_advisory_xact_lock({_LOCK_NUMBER})")
    table = next(table for table in await list_table_states(tx) if table.name == name)
    if table.placement == table.wanted_placement:
        return False
    if table.placement != "local":
        raise errors.Conflict(
            f"{name} is a {table.placement} table; this version needs it as a {table.wanted_placement} table.",
            hint=f"Run `select undistribute_table('{name}')`, then distribute again.",
        )
    if table.wanted_placement == "reference":
        await tx.run(f"select create_reference_table('{name}')")
    else:
        await tx.run(f"select create_distributed_table('{name}', '{table.distribution_column}')")
    return True


@dataclass(frozen=True)
class DistributionPlan:
    """What `distribute_database` would do."""

    has_citus: bool
    can_create_citus: bool
    workers: int
    servers: int
    """Connections of running servers."""
    pending: list[TableState]
    leftovers: list[TableState]
    placed_tables: int


async def plan_distribution(dsn: str) -> DistributionPlan:
    async with _open_patient_connection(dsn) as connection:
        tx = PostgresTx(connection, None)
        installed = await has_citus(tx)
        tables = await list_table_states(tx)
        return DistributionPlan(
            has_citus=installed,
            can_create_citus=bool(await connection.fetchval(_COUNT_AVAILABLE)),
            workers=await connection.fetchval(_COUNT_WORKERS) if installed else 0,
            servers=await connection.fetchval(_COUNT_SERVERS),
            pending=[table for table in tables if table.placement != table.wanted_placement],
            leftovers=[table for table in tables if table.has_local_copy],
            placed_tables=sum(table.placement != "local" for table in tables),
        )


_COUNT_AVAILABLE = "select count(*) from pg_available_extensions where name = 'citus'"
_COUNT_WORKERS = "select count(*) from citus_get_active_worker_nodes()"
_COUNT_SERVERS = "select count(*) from pg_stat_activity where datname = current_database() and application_name = 'commonplace'"


async def distribute_database(dsn: str, report: Report) -> int:
    """Distribute every table that is not distributed yet, with its rows; return how many were."""
    async with _open_patient_connection(dsn) as connection:
        tx = PostgresTx(connection, None)
        if not await has_citus(tx):
            await tx.run("create extension citus")
            report("Created the extension citus.")
        pending = [
            table for table in await list_table_states(tx) if table.placement != table.wanted_placement
        ]
        done = await _distribute_tables(connection, pending, report)
        await _remove_local_copies(tx, report)
        await _propagate_settings(tx)
    return done


async def distribute_new_database(database: Database) -> None:
    """At start, on Citus: distribute an unused database, and empty tables that a migration of a used one left.

    Tables with rows are moved only when an operator asks for it, because that takes time and locks them.
    """
    if not isinstance(database, Postgres) or not await database.read(has_citus):
        return
    async with _open_patient_connection(database.dsn) as connection:
        tx = PostgresTx(connection, None)
        tables = await list_table_states(tx)
        pending = [table for table in tables if table.placement == "local"]
        is_used = await tx.one("select 1 as yes from project limit 1") is not None
        is_begun = any(table.placement == "distributed" for table in tables)
        movable = [table for table in pending if not is_used or (is_begun and not table.heap_bytes)]
        if movable:
            await _distribute_tables(connection, movable, _log.info)
            await _propagate_settings(tx)
        if len(movable) < len(pending):
            _log.warning(
                "Citus is installed, but %d tables are not distributed; run `commonplace admin distribute`",
                len(pending) - len(movable),
            )


async def _distribute_tables(connection: Any, tables: list[TableState], report: Report) -> int:
    """One transaction for each table, so that an interrupted run keeps what it has done."""
    done = 0
    for n, table in enumerate(tables, 1):
        report(f"[{n}/{len(tables)}] {table.to_text()}")
        async with connection.transaction():
            done += await distribute_table(PostgresTx(connection, None), table.name)
    return done


async def _remove_local_copies(tx: Tx, report: Report) -> None:
    """Free the coordinator's disk; the rows are on the shards."""
    for table in await list_table_states(tx):
        if table.has_local_copy:
            await tx.run(f"select truncate_local_data_after_distributing_table('{table.name}')")
            report(f"Removed the coordinator's own copy of {table.name} ({table.bytes // 1024} KB).")


async def _propagate_settings(tx: Tx) -> None:
    """Let SET LOCAL reach the workers, where the vectors are: `search/postgres.py` sets the width of a scan."""
    row = await tx.one("select quote_ident(current_database()) as name")
    await tx.run(f"alter database {row['name'] if row else ''} set citus.propagate_set_commands = 'local'")


@contextlib.asynccontextmanager
async def _open_patient_connection(dsn: str) -> AsyncIterator[Any]:
    """A connection without time limits: a large table takes as long as it takes."""
    try:
        connection = await asyncpg.connect(dsn, server_settings={"application_name": "commonplace-admin"})
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, ValueError) as away:
        raise errors.Unavailable(
            f"PostgreSQL is not reachable ({type(away).__name__}).",
            hint="Check the address in --store, and that the server runs.",
        ) from away
    try:
        yield connection
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as failure:
        raise errors.Unavailable(
            f"PostgreSQL refused a step: {failure}",
            hint="What was distributed stays so. Solve the problem, then run the command again: it goes on from here.",
        ) from failure
    finally:
        await connection.close(timeout=10)
