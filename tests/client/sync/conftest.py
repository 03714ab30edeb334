"""A user with an empty home folder; a machine with agents on it, and a server that it speaks to."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from machine import Machine
from user import User

import product


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> User:
    return User(tmp_path, monkeypatch, capsys)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    (tmp_path / "home").mkdir()
    return Machine(tmp_path)


@pytest.fixture
def server(address: Path | str, tmp_path: Path, machine: Machine) -> Iterator[product.Product]:
    with product.running(*product.store_flags(address, tmp_path / "server")) as running:
        machine.url = running.url
        yield running
