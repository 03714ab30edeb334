"""A machine with agents on it, and a server that it speaks to."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from machine import Machine

import product


@pytest.fixture
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    """SQLite, since what is sent does not depend on the store; that it arrives is told on `both_stores`."""
    if getattr(request, "param", "sqlite") == "sqlite":
        return tmp_path / "data"
    return request.getfixturevalue("postgres_dsn")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    (tmp_path / "home").mkdir()
    return Machine(tmp_path)


@pytest.fixture
def server(address: Path | str, tmp_path: Path, machine: Machine) -> Iterator[product.Product]:
    with product.running(*product.store_flags(address, tmp_path / "server")) as running:
        machine.url = running.url
        yield running
