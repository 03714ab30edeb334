"""Full stores of each kind, and empty places to restore into."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from full_store import FullStore, fill_every_room, settings_of

from commonplace.config import Settings
from commonplace.store.database import Database
from team import HandClock, create_database


@pytest.fixture
async def full_store(database: Database, address: Path | str, clock: HandClock, tmp_path: Path) -> FullStore:
    return await fill_every_room(database, clock, settings_of(address, tmp_path / "beside"))


@pytest.fixture(params=["sqlite", "postgresql"])
async def target(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Settings]:
    """A place without a store."""
    if request.param == "sqlite":
        yield Settings(data=tmp_path / "restored")
        return
    async with create_database(request.getfixturevalue("postgres_server")) as dsn:
        yield settings_of(dsn, tmp_path / "restored")
