"""A real server whose clock a test can move, a repository, and agents that work in it."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench.tls_relay import TlsRelay
from hooked import Agent, repository

from commonplace.clock import SECOND
from commonplace.edges.application import build_application
from commonplace.edges.identity import Identity
from commonplace.edges.mcp.publisher import Publisher
from commonplace.edges.project_events import ProjectEvents
from patience import PATIENCE_SECONDS
from quick_server import QuickServer
from team import Team


@pytest.fixture
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    """SQLite, since hooks know no store; what is told of leases holds on `both_stores`."""
    if getattr(request, "param", "sqlite") == "sqlite":
        return tmp_path / "data"
    return request.getfixturevalue("postgres_dsn")


@pytest.fixture
async def url(team: Team) -> AsyncIterator[str]:
    """The product behind its HTTP edge, on a socket."""
    team.clock.now = int(time.time()) * SECOND
    identity, publisher = Identity(team.database, team.calls.settings, team.clock), Publisher()
    events = ProjectEvents(team.calls, identity.identify)
    app = build_application(team.calls, identity, publisher, events, b"x" * 32)
    listening = socket.create_server(("127.0.0.1", 0))
    server = QuickServer(app)
    task = asyncio.create_task(server.serve(sockets=[listening]))
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    publisher.close()
    server.end()
    await task


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return repository(tmp_path / "shop", "src/cart.py", "src/tax.py")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def surroundings(url: str, home: Path) -> dict[str, str]:
    """What every agent finds in its environment; a busy machine gets more time than a person would wait."""
    return {
        "COMMONPLACE_URL": url,
        "COMMONPLACE_HOME": str(home),
        "COMMONPLACE_HOOKS_SECONDS": str(PATIENCE_SECONDS),
        "COMMONPLACE_HOOKS_TRANSCRIPTS": "off",
    }


@pytest.fixture
def agent(surroundings: dict[str, str], shop: Path) -> Callable[..., Agent]:
    def arrive(tool: str = "claude", cwd: Path = shop, **environ: str) -> Agent:
        return Agent(tool, cwd, surroundings | environ)

    return arrive


@pytest.fixture
def near(agent: Callable[..., Agent]) -> Callable[..., Agent]:
    """Agents whose hooks run in the test's own process."""

    def arrive(tool: str = "claude", **more: Any) -> Agent:
        return replace(agent(tool, **more), apart=False)

    return arrive


@pytest.fixture
async def relay(url: str, tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[TlsRelay]:
    """In front of the server, at the round trip that the test asks for."""
    port = int(url.rpartition(":")[2])
    async with TlsRelay(port, getattr(request, "param", 0.0), tmp_path).run() as relay:
        yield relay


@pytest.fixture
def remote_agent(
    relay: TlsRelay, home: Path, shop: Path, request: pytest.FixtureRequest
) -> Callable[..., Agent]:
    """Agents that know the server by its address and its authority; in the long form with the default limits of time."""
    is_long = request.config.getoption("--long")
    limit = {} if is_long else {"COMMONPLACE_HOOKS_SECONDS": str(PATIENCE_SECONDS)}

    def arrive(tool: str = "claude", **environ: str) -> Agent:
        variables = {
            "COMMONPLACE_URL": relay.url,
            "COMMONPLACE_HOME": str(home),
            "COMMONPLACE_CA_FILE": str(relay.ca_file),
            "COMMONPLACE_HOOKS_TRANSCRIPTS": "off",
        }
        return Agent(tool, shop, variables | limit | environ)

    return arrive
