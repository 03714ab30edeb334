"""PostgreSQL through asyncpg: a pool for writes, a read-only pool, a connection for probes, and notifications.

Limits of time are in `postgres_connection.py`, what one project may use of a pool in `project_lanes.py`, the
notifications in `postgres_notifications.py`. Behind a pooler such as PgBouncer in transaction mode a session is not ours
from one transaction to the next: no prepared statements, no settings of a session, no LISTEN.
"""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

import asyncpg

from commonplace import errors
from commonplace.clock import Clock
from commonplace.store.database import Kind, Tx, Work
from commonplace.store.faults import StoreFault, TransactionConflict
from commonplace.store.lease_clock import LeaseClock
from commonplace.store.postgres_connection import PostgresHosts, PostgresTimeouts, limit_network_silence
from commonplace.store.postgres_errors import DRIVER_ERRORS, classify_postgres_error, postgres_refusal
from commonplace.store.postgres_notifications import PostgresNotifications
from commonplace.store.postgres_tx import PostgresTx
from commonplace.store.project_lanes import LaneFull, LaneTicket, ProjectLanes

T = TypeVar("T")

_RETRIES = 5
_CLOSE_SECONDS = 3.0
_ROLL_BACK_SECONDS = 1.0
_SILENT_WORKERS = (
    "select nodename, nodeport from run_command_on_workers('select 1') where not success order by 1, 2"
)
_PROBE_LOG = "select pg_logical_emit_message(true, 'commonplace', 'probe')"
_PROBE_ROW = "insert into setting (name, value) values ('probe', '') on conflict (name) do update set value = excluded.value"


DEFAULT_TIMEOUTS = PostgresTimeouts()


class _Pool:
    """A pool of connections, and what each project uses of it."""

    def __init__(self, pool: Any, begin: str, size: int) -> None:
        self.connections, self.begin = pool, begin
        self.lanes = ProjectLanes(size)


class Postgres:
    """Only tests pass `clock`; else the primary's clock decides about leases."""

    kind: Kind = "postgresql"

    def __init__(
        self,
        dsn: str,
        writers: _Pool,
        readers: _Pool,
        probes: _Pool,
        clock: Clock | None,
        timeouts: PostgresTimeouts,
        notifications: PostgresNotifications,
        *,
        has_citus: bool,
    ) -> None:
        self.dsn, self._timeouts = dsn, timeouts
        self._writers, self._readers, self._probes, self._clock = writers, readers, probes, clock
        self._notifications, self._has_citus = notifications, has_citus
        self._has_failed_write = False
        self.lease_clock: LeaseClock | None = None

    @classmethod
    async def open(
        cls,
        dsn: str,
        clock: Clock | None = None,
        *,
        pool: int = 10,
        timeouts: PostgresTimeouts = DEFAULT_TIMEOUTS,
        lease_clock: LeaseClock | None = None,
    ) -> "Postgres":
        hosts = PostgresHosts(dsn)
        try:
            traits = await hosts.inspect_server(timeouts)
            is_pooled = traits.is_pooled

            async def open_pool(init: Callable[[Any], Awaitable[None]], size: int = pool) -> Any:
                return await asyncpg.create_pool(
                    dsn,
                    min_size=0,
                    max_size=size,
                    init=init,
                    connect=hosts.connect,
                    **timeouts.connection_settings(pooled=is_pooled),
                )

            writers = await open_pool(limit_network_silence)
            readers = await open_pool(limit_network_silence if is_pooled else limit_to_reads)
            probes = await open_pool(limit_network_silence, 1)
        except (*DRIVER_ERRORS, ValueError) as away:
            raise _unreachable(away) from away
        notifications = PostgresNotifications(hosts, timeouts, pooled=is_pooled)
        store = cls(
            dsn,
            _Pool(writers, "begin", pool),
            _Pool(readers, "begin read only" if is_pooled else "", pool),
            _Pool(probes, "begin", 1),
            clock,
            timeouts,
            notifications,
            has_citus=traits.has_citus,
        )
        store.lease_clock = lease_clock
        return store

    async def read(self, work: Work[T]) -> T:
        return await self._run(self._readers, work)

    async def write(self, work: Work[T]) -> T:
        try:
            result = await self._run(self._writers, work)
        except errors.Unavailable as refusal:
            self._has_failed_write = not isinstance(refusal, TransactionConflict)
            raise
        self._has_failed_write = False
        return result

    async def check_pages(self, *, only_if_quick: bool = False) -> None:
        """Nothing to do: PostgreSQL checks its own pages."""

    async def check_writable(self) -> None:
        """Commit something; raise why that fails. After a failed write a row, else only an entry of the log.

        On a connection of its own: a store that is busy is not one that fails.
        """

        async def probe(tx: Tx) -> None:
            row = await tx.one("select current_setting('transaction_read_only') as read_only")
            if row and row["read_only"] == "on":
                raise errors.Unavailable(
                    "The database is read-only.", hint="Operator: check whether it is a standby."
                )
            # On Citus a row of a reference table is written on every node; one that is away stops only its own projects.
            writes_row = self._has_failed_write and not self._has_citus
            await tx.run(_PROBE_ROW if writes_row else _PROBE_LOG)

        await self._run(self._probes, probe)
        self._has_failed_write = False

    async def list_silent_nodes(self) -> list[str]:
        async def ask_workers(tx: Tx) -> list[str]:
            if await tx.one("select 1 as yes from pg_extension where extname = 'citus'") is None:
                return []
            rows = await tx.all(_SILENT_WORKERS)
            return [f"{row['nodename']}:{row['nodeport']}" for row in rows]

        return await self._run(self._probes, ask_workers) if self._has_citus else []

    def announce(self, projects: set[str]) -> None:
        self._notifications.announce(projects)

    async def listen(self, heard: Callable[[set[str] | None], None]) -> None:
        await self._notifications.open(heard)

    async def stop_listening(self) -> None:
        await self._notifications.close()

    def measure_load(self) -> dict[str, int]:
        figures = {}
        for name, pool in (("write", self._writers.connections), ("read", self._readers.connections)):
            figures[f"{name}_connections"] = pool.get_size()
            figures[f"{name}_connections_idle"] = pool.get_idle_size()
        return figures

    async def close(self) -> None:
        await self.stop_listening()
        pools = (self._writers, self._readers, self._probes)
        await asyncio.gather(*(_close_pool(pool.connections) for pool in pools))

    async def _run(self, pool: _Pool, work: Work[T]) -> T:
        """Run the transaction when its project has a place, again after a conflict."""
        ticket = LaneTicket(pool.lanes)
        tries = 0
        try:
            while True:
                try:
                    return await self._run_once(pool, work, ticket)
                except LaneFull as full:
                    await ticket.wait(full.project, self._timeouts.acquire_seconds)
                except TransactionConflict:
                    if tries == _RETRIES:
                        raise
                    await asyncio.sleep(random.uniform(0, 0.01 * 2**tries))  # noqa: S311 - jitter is no secret
                    tries += 1
        finally:
            ticket.leave()

    async def _run_once(self, pool: _Pool, work: Work[T], ticket: LaneTicket) -> T:
        async with self._acquire_connection(pool.connections) as connection:
            begin = self._timeouts.format_begin(connection, pool.begin) if pool.begin else ""
            tx = PostgresTx(
                connection, self._clock, begin, self.lease_clock, ticket, has_citus=self._has_citus
            )
            try:
                result = await work(tx)
                await tx.commit()
            except BaseException as error:
                if not isinstance(error, OSError):
                    await _roll_back(connection, tx)
                raise
            return result

    @contextlib.asynccontextmanager
    async def _acquire_connection(self, pool: Any) -> AsyncIterator[Any]:
        """A connection of the pool. Every error of the driver becomes a refusal, but for bugs."""
        try:
            connection = await pool.acquire(timeout=self._timeouts.acquire_seconds)
            try:
                yield connection
            except OSError:  # a server that did not answer a statement would not answer a rollback either
                connection.terminate()
                raise
            finally:
                await pool.release(connection, timeout=_ROLL_BACK_SECONDS)
        except DRIVER_ERRORS as error:
            if classify_postgres_error(error) is StoreFault.READ_ONLY:
                await pool.expire_connections()  # after a failover another host is the primary
            refusal = postgres_refusal(error, self.dsn)
            if refusal is None:
                raise
            raise refusal from error


async def _roll_back(connection: Any, tx: PostgresTx) -> None:
    """Roll back, or drop the connection: the server then rolls back by itself."""
    try:
        await tx.roll_back(_ROLL_BACK_SECONDS)
    except DRIVER_ERRORS:
        connection.terminate()


async def limit_to_reads(connection: Any) -> None:
    """For each new connection of the readers. Not as a start-up parameter: target_session_attrs=read-write looks at it."""
    await limit_network_silence(connection)
    await connection.execute("set default_transaction_read_only = on")


async def _close_pool(pool: Any) -> None:
    try:
        async with asyncio.timeout(_CLOSE_SECONDS):
            await pool.close()
    except DRIVER_ERRORS:
        pool.terminate()


def _unreachable(away: BaseException) -> errors.Refusal:
    """What an operator reads at start; a wrong name or password is not worth waiting for."""
    if classify_postgres_error(away) is StoreFault.DENIED or isinstance(away, ValueError):
        return errors.Forbidden(
            f"PostgreSQL does not accept this address: {away}.",
            hint="Check --store: user, password, database.",
        )
    return errors.Unavailable(
        f"PostgreSQL is not reachable ({type(away).__name__}: {away}).",
        hint="Check the address in --store, and that the server runs.",
        retry_after=2,
    )
