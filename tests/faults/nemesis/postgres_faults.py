"""What happens to servers that share a PostgreSQL: to their processes, to the database, to the network between them."""

import asyncio
import contextlib
import random
import signal
from collections.abc import AsyncIterator, Awaitable, Callable

import asyncpg
from bench.postgres_relay import PostgresRelay

from nemesis.history import read_time
from nemesis.postgres_pair import PostgresPair
from nemesis.server_start import DATABASE_CLOCK_TABLE
from nemesis.servers import ServerProcess
from patience import PATIENCE_SECONDS
from postgres_process import PostgresProcess

Act = Callable[[], Awaitable[None]]
_LOCKED_TABLES = ("event", "counter", "lease", "audit", "session", "idempotency")
_FULL_TABLES = ("audit", "setting")
_FULL = """
create or replace function nemesis_full() returns trigger language plpgsql as
$$ begin raise exception 'No space left on device' using errcode = '53100'; end $$
"""


class ServersWorld:
    """What can happen to one of several servers, whatever is below them."""

    def __init__(self, servers: list[ServerProcess], chance: random.Random) -> None:
        self.servers, self._chance = servers, chance
        self.kills = 0

    async def kill(self) -> None:
        await self._restart(self._chance.choice(self.servers))

    async def kill_all(self) -> None:
        await asyncio.gather(*map(self._restart, self.servers))

    async def kill_at_start(self) -> None:
        """Again and again before it is ready."""
        server = self._chance.choice(self.servers)
        for _ in range(3):
            await self._restart(server)
            await asyncio.sleep(self._chance.uniform(0.0, 0.6))

    async def restart(self) -> None:
        server = self._chance.choice(self.servers)
        await server.stop()
        server.start()

    async def _restart(self, server: ServerProcess) -> None:
        await server.kill()
        self.kills += 1
        server.start()

    async def freeze(self) -> None:
        server = self._chance.choice(self.servers)
        server.send(signal.SIGSTOP)
        try:
            await asyncio.sleep(self._chance.uniform(0.2, 4.0))
        finally:
            server.send(signal.SIGCONT)

    async def skew_clock(self) -> None:
        """The clock of one machine, which its stamps follow; leases must not."""
        server = self._chance.choice(self.servers)
        server.clock_seconds = self._chance.choice((-1, 1)) * 3600.0
        server.command(do="clock", seconds=server.clock_seconds)
        await asyncio.sleep(0.3)
        server.clock_seconds = 0.0
        server.command(do="clock", seconds=0)


class PostgresWorld(ServersWorld):
    """Three servers on one PostgreSQL; the last one reaches it through a relay."""

    def __init__(
        self,
        servers: list[ServerProcess],
        chance: random.Random,
        postgres: PostgresProcess,
        relay: PostgresRelay,
        dsn: str,
    ) -> None:
        super().__init__(servers, chance)
        self._postgres, self._relay, self._dsn = postgres, relay, dsn
        self._clock_seconds = 0

    def list_faults(self) -> dict[str, Act]:
        return {
            "kill": self.kill,
            "kill all": self.kill_all,
            "kill at start": self.kill_at_start,
            "restart": self.restart,
            "freeze": self.freeze,
            "skew": self.skew_clock,
            "database stops": self.stop_database,
            "database crashes": self.crash_database,
            "database freezes": self.freeze_database,
            "read-only": self.make_read_only,
            "locked table": self.lock_table,
            "full disk": self.fill_disk,
            "connections cut": self.cut_connections,
            "network cut": self.cut_network,
            "network slow": self.slow_network,
            "clock": self.set_clock,
        }

    async def stop_database(self) -> None:
        await asyncio.to_thread(self._postgres.stop)
        await asyncio.sleep(self._chance.uniform(0.2, 2.0))
        await asyncio.to_thread(self._postgres.start)

    async def crash_database(self) -> None:
        await asyncio.to_thread(self._postgres.stop, "immediate")
        await asyncio.to_thread(self._postgres.start)

    async def freeze_database(self) -> None:
        with self._postgres.frozen():
            await asyncio.sleep(self._chance.uniform(0.5, 4.0))

    async def make_read_only(self) -> None:
        async with self._connect() as connection:
            await connection.execute("alter system set default_transaction_read_only = on")
            await connection.execute("select pg_reload_conf()")
            await asyncio.sleep(self._chance.uniform(0.3, 2.0))
            await connection.execute("alter system reset default_transaction_read_only")
            await connection.execute("select pg_reload_conf()")

    async def lock_table(self) -> None:
        """Somebody else holds a lock that every writer needs."""
        async with self._connect() as connection, connection.transaction():
            table = self._chance.choice(_LOCKED_TABLES)
            await connection.execute(f"lock table {table} in access exclusive mode")
            await asyncio.sleep(self._chance.uniform(0.3, 3.0))

    async def fill_disk(self) -> None:
        """Writes are refused with the error of a full disk. It comes from a trigger: the disk has other users."""
        async with self._connect() as connection:
            await connection.execute(_FULL)
            for table in _FULL_TABLES:
                await connection.execute(
                    f"create trigger nemesis_full before insert or update on {table} execute function nemesis_full()"
                )
            await asyncio.sleep(self._chance.uniform(0.3, 1.5))
            for table in _FULL_TABLES:
                await connection.execute(f"drop trigger nemesis_full on {table}")

    async def cut_connections(self) -> None:
        async with self._connect() as connection:
            await connection.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'commonplace'"
            )

    async def cut_network(self) -> None:
        for _ in range(3):
            self._relay.cut_connections()
            await asyncio.sleep(self._chance.uniform(0.05, 0.3))

    async def slow_network(self) -> None:
        self._relay.round_trip_seconds = self._chance.uniform(0.05, 0.5)
        await asyncio.sleep(self._chance.uniform(0.5, 2.0))
        self._relay.round_trip_seconds = 0.0

    async def set_clock(self) -> None:
        """The database's clock, which decides about leases for all servers, jumps by hours."""
        self._clock_seconds += self._chance.choice((-3, -1, 1, 5)) * 3600
        async with self._connect() as connection:
            await connection.execute(
                f"update {DATABASE_CLOCK_TABLE} set microseconds = $1", self._clock_seconds * 1_000_000
            )
        await asyncio.sleep(self._chance.uniform(0.1, 0.5))

    @contextlib.asynccontextmanager
    async def _connect(self) -> AsyncIterator[asyncpg.Connection]:
        connection = await connect_as_operator(self._dsn)
        try:
            yield connection
        finally:
            await connection.close()


class PairWorld(ServersWorld):
    """Three servers on a primary and a standby."""

    def __init__(self, servers: list[ServerProcess], chance: random.Random, pair: PostgresPair) -> None:
        super().__init__(servers, chance)
        self._pair = pair

    def list_faults(self) -> dict[str, Act]:
        return {"kill": self.kill, "freeze": self.freeze, "promote": self.promote}

    async def promote(self) -> None:
        await self._pair.promote()
        await self._pair.attach_standby()


async def connect_as_operator(dsn: str) -> asyncpg.Connection:
    """A session that may write even while the database is read-only; waits for one that starts."""
    ends = read_time() + PATIENCE_SECONDS
    while True:
        try:
            return await asyncpg.connect(dsn, server_settings={"default_transaction_read_only": "off"})
        except (OSError, asyncpg.PostgresError):
            if read_time() > ends:
                raise
            await asyncio.sleep(0.1)
