"""Databases of an operator, for tests that read them."""

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from guarded import Address, forget_registered, write_postgres, write_sqlite

from team import create_database


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Say in the environment what an operator would."""

    def say(name: str, address: Address, **more: str) -> None:
        for key, value in address.environment(name, **more).items():
            monkeypatch.setenv(key, value)
        forget_registered()

    forget_registered()
    yield say
    monkeypatch.undo()
    forget_registered()


@pytest.fixture
def lite(tmp_path: Path) -> Address:
    (tmp_path / "outside").mkdir()
    return write_sqlite(tmp_path / "outside" / "app.db")


@pytest.fixture
async def postgres(postgres_server: str) -> AsyncIterator[tuple[str, Address, Address]]:
    """The address of a database, its reader and its owner."""
    async with create_database(postgres_server) as dsn:
        yield dsn, *await write_postgres(dsn)
