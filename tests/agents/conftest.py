"""A server, a scripted model and a workstation for each test; programs that cannot run are skipped with the reason."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from observer import Observer
from programs import DrivenProgram, find_fault
from scripted_model import ScriptedModel
from terminal import Terminal
from workstation import Workstation

import product
from patience import PATIENCE_SECONDS


@pytest.fixture
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[product.Product]:
    """Keys are off, unless the test asks for "auth on"."""
    flags = getattr(request, "param", "auth off").split()
    with product.running(
        "--data", str(tmp_path / "data"), "--embeddings", "off", f"--{flags[0]}", flags[1]
    ) as running:
        yield running


@pytest.fixture
def key(request: pytest.FixtureRequest, server: product.Product, tmp_path: Path) -> str:  # noqa: ARG001 - it must run
    """One key for the whole team; empty where keys are off."""
    if not hasattr(request.node, "callspec") or request.node.callspec.params.get("server") != "auth on":
        return ""
    words = ["key", "create", "--name", "team", "--role", "agent", "--projects", "webstore"]
    completed = subprocess.run(
        [*product.command(*words), "--data", str(tmp_path / "data")],
        env=product.environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=True,
    )
    return completed.stdout.split()[0]


@pytest.fixture
def observer(server: product.Product, key: str, tmp_path: Path) -> Observer:
    return Observer(server, key, tmp_path / "data")


@pytest.fixture
def workstation(tmp_path: Path, server: product.Product, key: str) -> Iterator[Workstation]:
    scripted_model = ScriptedModel()
    station = Workstation(tmp_path / "station", server.url, scripted_model, key)
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
