"""PostgreSQL through asyncpg: a pool for writes, a read-only pool, and connections that send and receive notifications."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar

import asyncpg

from commonplace import errors
from commonplace.clock import Clock
from commonplace.store.database import Kind, Work
from commonplace.store.faults import TransactionConflict
from commonplace.store.lease_clock import LeaseClock
from commonplace.store.postgres_connection import PostgresTimeouts, limit_network_silence
from commonplace.store.postgres_errors import DRIVER_ERRORS, postgres_refusal
from commonplace.store.postgres_tx import PostgresTx

T = TypeVar("T")

_CHANNEL = "commonplace"
_NOTIFY_APART = 0.005
_MAX_PAYLOAD_BYTES = 7500
_RETRIES = 5


DEFAULT_TIMEOUTS = PostgresTimeouts()


class Postgres:
    """Only tests pass `clock`; else the primary's clock decides about leases."""

    kind: Kind = "postgresql"

    def __init__(
        self, dsn: str, writers: Any, readers: Any, clock: Clock | None, timeouts: PostgresTimeouts
    ) -> None:
        self.dsn, self._timeouts = dsn, timeouts
        self._writers, self._readers, self._clock = writers, readers, clock
        self.lease_clock: LeaseClock | None = None
        self._dirty: set[str] = set()
        self._wake = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

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
        read_only = {"default_transaction_read_only": "on"}
        try:
            writers, readers = [
                await asyncpg.create_pool(
                    dsn,
                    min_size=1,
                    max_size=pool,
                    init=limit_network_silence,
                    **timeouts.connection_settings(**server),
                )
                for server in ({}, read_only)
            ]
        except (*DRIVER_ERRORS, ValueError) as away:
            raise errors.Unavailable(
                f"PostgreSQL is not reachable ({type(away).__name__}).",
                hint="Check the address in --store, and that the server runs.",
            ) from away
        store = cls(dsn, writers, readers, clock, timeouts)
        store.lease_clock = lease_clock
        return store

    async def read(self, work: Work[T], operation: str = "") -> T:
        del operation
        async with self._acquire_connection(self._readers) as connection:
            return await work(PostgresTx(connection, self._clock, lease_clock=self.lease_clock))

    async def write(self, work: Work[T]) -> T:
        async def run_once() -> T:
            async with self._acquire_connection(self._writers) as connection:
                return await self._run_transaction(connection, work)

        for tries in range(_RETRIES):
            with contextlib.suppress(TransactionConflict):
                return await run_once()
            await asyncio.sleep(random.uniform(0, 0.01 * 2**tries))  # noqa: S311 - jitter is no secret
        return await run_once()

    def announce(self, projects: set[str]) -> None:
        """NOTIFY inside a transaction serialises commits, so hints go out on a connection of their own."""
        self._dirty |= projects
        self._wake.set()

    async def listen(self, heard: Callable[[set[str] | None], None]) -> None:
        tried = asyncio.Event()
        self._tasks += [
            asyncio.create_task(self._receive_notifications(heard, tried)),
            asyncio.create_task(self._send_notifications()),
        ]
        await tried.wait()

    async def stop_listening(self) -> None:
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def close(self) -> None:
        await self.stop_listening()
        for pool in (self._writers, self._readers):
            try:
                await asyncio.wait_for(pool.close(), 5)
            except TimeoutError:
                pool.terminate()

    @contextlib.asynccontextmanager
    async def _acquire_connection(self, pool: Any) -> AsyncIterator[Any]:
        """A connection of the pool. Every error of the driver becomes a refusal, but for bugs."""
        try:
            async with pool.acquire(timeout=self._timeouts.acquire_seconds) as connection:
                yield connection
        except DRIVER_ERRORS as error:
            refusal = postgres_refusal(error, self.dsn)
            if refusal is None:
                raise
            raise refusal from error

    async def _run_transaction(self, connection: Any, work: Work[T]) -> T:
        tx = PostgresTx(connection, self._clock, self._timeouts.format_begin(connection), self.lease_clock)
        try:
            result = await work(tx)
            await tx.commit()
        except BaseException:
            await tx.roll_back()
            raise
        return result

    async def _send_notifications(self) -> None:
        while True:
            try:
                connection = await _connect(self.dsn, self._timeouts, synchronous_commit="off")
                with contextlib.closing(_Closing(connection)):
                    await self._send_notifications_on(connection)
            except DRIVER_ERRORS:
                await asyncio.sleep(1)

    async def _send_notifications_on(self, connection: Any) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            projects, self._dirty = self._dirty, set()
            try:
                for payload in _split_payloads(projects):
                    await connection.execute("select pg_notify($1, $2)", _CHANNEL, payload)
            except DRIVER_ERRORS:
                self.announce(projects)
                raise
            await asyncio.sleep(_NOTIFY_APART)

    async def _receive_notifications(
        self, heard: Callable[[set[str] | None], None], tried: asyncio.Event
    ) -> None:
        """Reconnect forever; after a reconnect call `heard` with None, because announcements may be lost."""
        while True:
            try:
                connection = await _connect(self.dsn, self._timeouts)
                with contextlib.closing(_Closing(connection)):
                    await connection.add_listener(_CHANNEL, lambda *got: heard(set(got[3].split(","))))
                    if tried.is_set():
                        heard(None)
                    tried.set()
                    await _wait_for_termination(connection)
            except DRIVER_ERRORS:
                pass
            finally:
                tried.set()
            await asyncio.sleep(1)


class _Closing:
    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def close(self) -> None:
        self._connection.terminate()


async def _connect(dsn: str, timeouts: PostgresTimeouts, **server: str) -> Any:
    """Connect; a cancelled caller does not leave the connection open."""
    connecting = asyncio.ensure_future(asyncpg.connect(dsn, **timeouts.connection_settings(**server)))
    try:
        connection = await asyncio.shield(connecting)
    except asyncio.CancelledError:
        with contextlib.suppress(*DRIVER_ERRORS):
            (await connecting).terminate()
        raise
    await limit_network_silence(connection)
    return connection


async def _wait_for_termination(connection: Any) -> None:
    ended = asyncio.Event()
    connection.add_termination_listener(lambda *_: ended.set())
    await ended.wait()


def _split_payloads(projects: set[str]) -> list[str]:
    """Payloads of less than 8 kB, the limit of NOTIFY."""
    payloads: list[str] = []
    for project in sorted(projects):
        if payloads and len(f"{payloads[-1]},{project}".encode()) <= _MAX_PAYLOAD_BYTES:
            payloads[-1] += "," + project
        else:
            payloads.append(project)
    return payloads
