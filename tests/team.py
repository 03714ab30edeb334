"""What tests talk to: the product without an edge, its agents, and stores that are removed again."""

import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import msgspec
import pytest

from commonplace import access
from commonplace.call import Calls
from commonplace.clock import SECOND
from commonplace.store.database import Database
from commonplace.store.lease_clock import LeaseClock
from commonplace.store.migrate import migrate
from commonplace.store.postgres import Postgres
from commonplace.store.postgres_connection import PostgresTimeouts
from commonplace.store.sqlite import Sqlite
from patience import PATIENCE_SECONDS

on_sqlite = pytest.mark.parametrize("address", ["sqlite"], indirect=True)
"""For what does not depend on the store: a story of replies, headers or protocols that others tell on both."""
PATIENT_TIMEOUTS = PostgresTimeouts(*[PATIENCE_SECONDS] * 6)
"""A loaded machine answers late; no test but those of a lost database may depend on the server's own bounds."""


class HandClock:
    """Time that passes only when a test says so."""

    def __init__(self) -> None:
        self.now = 1_800_000_000 * SECOND

    def __call__(self) -> int:
        return self.now

    def advance(self, *, seconds: float = 0, minutes: float = 0, days: float = 0) -> None:
        self.now += int((seconds + 60 * minutes + 86400 * days) * SECOND)


@dataclass
class Agent:
    """An agent with a session: `alice.lock_files(files=[...])` calls memory_lock_files as alice."""

    calls: Calls
    session_id: str = ""
    caller: access.Caller = access.LOCAL
    started: dict[str, Any] = field(default_factory=dict)

    async def call(self, operation: str, **arguments: Any) -> dict[str, Any]:
        answer = await self.calls.run(operation, arguments, self.caller)
        return msgspec.json.decode(answer.to_text())

    def __getattr__(self, name: str) -> Callable[..., Any]:
        operation = f"memory_{name}" if f"memory_{name}" in self.calls.catalogue.tools else name

        async def run(**arguments: Any) -> dict[str, Any]:
            if self.session_id and operation != "memory_start_session":
                arguments = {"session_id": self.session_id} | arguments
            return await self.call(operation, **arguments)

        return run


@dataclass
class Team:
    """The product without an edge, and the agents that use it."""

    calls: Calls
    clock: HandClock

    @property
    def database(self) -> Database:
        return self.calls.database

    def anyone(self, caller: access.Caller = access.LOCAL) -> Agent:
        """Somebody without a session."""
        return Agent(self.calls, caller=caller)

    async def agent(
        self, name: str, project: str = "shop", caller: access.Caller = access.LOCAL, **more: Any
    ) -> Agent:
        started = await Agent(self.calls, caller=caller).call(
            "memory_start_session", project=project, claude_instance=name, **more
        )
        return Agent(self.calls, started["session_id"], caller, started)


@asynccontextmanager
async def create_database(server: str, template: str = "template1") -> AsyncIterator[str]:
    """The address of a database that goes away again."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    await execute(server, f"create database {name} template {template} strategy file_copy")
    try:
        yield beside(server, name)
    finally:
        await execute(server, f"drop database {name} with (force)")


def beside(dsn: str, database: str) -> str:
    parts = urlsplit(dsn)
    return urlunsplit(parts._replace(path=f"/{database}"))


async def execute(dsn: str, sql: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(sql)
    finally:
        await connection.close()


@asynccontextmanager
async def _borrowed(store: Postgres | None, dsn: str) -> AsyncIterator[asyncpg.Connection]:
    if store:
        async with store._writers.connections.acquire() as connection:
            yield connection
        return
    connection = await asyncpg.connect(dsn)
    try:
        yield connection
    finally:
        await connection.close()


@asynccontextmanager
async def refuse_writes(database: Database) -> AsyncIterator[None]:
    """Make a store read-only for a while, as a damaged disk or a standby is."""
    if isinstance(database, Sqlite):
        writer = await database.write(_get_connection)
        writer.pragma("query_only", True)
        yield
        writer.pragma("query_only", False)
        return
    assert isinstance(database, Postgres)
    await _set_read_only(database, "on")
    yield
    await _set_read_only(database, "off")


async def _get_connection(tx: Any) -> Any:
    return tx._connection


async def _set_read_only(store: Postgres, value: str) -> None:
    async with AsyncExitStack() as stack:
        pool = store._writers.connections
        for connection in [
            await stack.enter_async_context(pool.acquire()) for _ in range(pool.get_max_size())
        ]:
            await connection.execute(f"set default_transaction_read_only = {value}")


async def open_store(
    address: Path | str, clock: HandClock, lease_clock: LeaseClock | None = None
) -> Database:
    if isinstance(address, Path):
        return Sqlite(address, clock, lease_clock)
    return await Postgres.open(address, clock, pool=6, timeouts=PATIENT_TIMEOUTS, lease_clock=lease_clock)


_SHAPE = (
    "select (select string_agg(n || checksum, ',' order by n) from schema_version) || '/' ||"
    " (select string_agg(relname, ',' order by relname) from pg_class"
    "  where relnamespace = 'public'::regnamespace and relkind = 'r') as shape"
)
_EMPTY = """do $$ declare name text; begin
  for name in select relname from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'
    and relname <> 'schema_version' loop execute format('delete from %I', name); end loop;
end $$"""
_ALONE = (
    "select pg_terminate_backend(pid) from pg_stat_activity"
    " where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'"
)


class Template:
    """A migrated database, and one copy that tests borrow one after the other: emptying is cheaper than copying."""

    def __init__(self, server: str) -> None:
        self._server, self._name = server, f"template_{uuid.uuid4().hex[:12]}"
        self._shape, self._copy = "", ""
        self._kept: Postgres | None = None

    async def prepare(self) -> None:
        await execute(self._server, f"create database {self._name}")
        store = await Postgres.open(beside(self._server, self._name), pool=1)
        try:
            await migrate(store)
        finally:
            await store.close()
        self._shape = await self._fetch(beside(self._server, self._name), _SHAPE)

    async def lend(self) -> str:
        if not self._copy:
            self._copy = f"test_{uuid.uuid4().hex[:12]}"
            await execute(
                self._server, f"create database {self._copy} template {self._name} strategy file_copy"
            )
        return beside(self._server, self._copy)

    async def store(self, clock: HandClock) -> Postgres:
        """The store in the copy; kept from test to test, for each connection costs a process."""
        if self._kept is None:
            self._kept = await Postgres.open(await self.lend(), clock, pool=6, timeouts=PATIENT_TIMEOUTS)
        self._kept._clock = clock
        return self._kept

    async def take_back(self) -> None:
        if self._kept and self._kept._writers.connections.is_closing():
            self._kept = None
        if not await self._emptied():
            await self.close()
            await execute(self._server, f"drop database {self._copy} with (force)")
            self._copy = ""

    async def close(self) -> None:
        kept, self._kept = self._kept, None
        if kept:
            await kept.close()

    async def _emptied(self) -> bool:
        """Whether it could be."""
        async with _borrowed(self._kept, beside(self._server, self._copy)) as connection:
            await connection.execute(_ALONE)
            if await connection.fetchval(_SHAPE) != self._shape:
                return False
            await connection.execute(_EMPTY)
            return True

    async def _fetch(self, dsn: str, sql: str) -> str:
        connection = await asyncpg.connect(dsn)
        try:
            return str(await connection.fetchval(sql))
        finally:
            await connection.close()
