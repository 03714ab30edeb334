"""Databases of an operator, for tests that read them."""

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from guarded_databases import DatabaseAddress, clear_registered_databases, write_postgres, write_sqlite

from team import create_database


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Say in the environment what an operator would."""

    def say(name: str, address: DatabaseAddress, **more: str) -> None:
        for key, value in address.build_environment(name, **more).items():
            monkeypatch.setenv(key, value)
        clear_registered_databases()

    clear_registered_databases()
    yield say
    monkeypatch.undo()
    clear_registered_databases()


@pytest.fixture
def lite(tmp_path: Path) -> DatabaseAddress:
    (tmp_path / "outside").mkdir()
    return write_sqlite(tmp_path / "outside" / "app.db")


@pytest.fixture
async def postgres(postgres_server: str) -> AsyncIterator[tuple[str, DatabaseAddress, DatabaseAddress]]:
    """The address of a database, its reader and its owner."""
    async with create_database(postgres_server) as dsn:
        yield dsn, *await write_postgres(dsn)
