"""A server, a scripted model and a workstation for each test; programs that cannot run are skipped with the reason."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from observer import Observer
from programs import DrivenProgram, find_fault
from scripted_model import ScriptedModel
from terminal import Terminal
from workstation import Workstation

import product


@pytest.fixture
def server(tmp_path: Path) -> Iterator[product.Product]:
    with product.running("--data", str(tmp_path / "data"), "--embeddings", "off") as running:
        yield running


@pytest.fixture
def observer(server: product.Product) -> Observer:
    return Observer(server)


@pytest.fixture
def workstation(tmp_path: Path, server: product.Product) -> Iterator[Workstation]:
    scripted_model = ScriptedModel()
    station = Workstation(tmp_path / "station", server.url, scripted_model)
    station.create()
    yield station
    station.close()
    scripted_model.close()


def require_program(*programs: DrivenProgram) -> None:
    for program in programs:
        if fault := find_fault(program):
            pytest.skip(fault)


def require_terminal() -> None:
    if not Terminal.is_available():
        pytest.skip("tmux is not installed")
