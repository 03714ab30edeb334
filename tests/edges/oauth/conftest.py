"""An issuer and a resource server that trusts it, both on loopback and in this process."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from oauth_issuer import Issuer, SigningKey
from resource_server import ResourceServer

from commonplace.call import Calls
from commonplace.catalogue import CATALOGUE
from commonplace.config import read_settings
from commonplace.edges.application import build_application
from commonplace.edges.identity import Identity
from commonplace.edges.mcp.publisher import Publisher
from commonplace.edges.oauth.token_callers import TokenCallers
from commonplace.edges.project_events import ProjectEvents
from patience import PATIENCE_SECONDS
from quick_server import QuickServer
from team import HandClock

_SHARED_KEY: list[SigningKey] = []


@contextlib.asynccontextmanager
async def serve(app: Any, listening: socket.socket) -> AsyncIterator[None]:
    server = QuickServer(app)
    task = asyncio.create_task(server.serve(sockets=[listening]))
    yield
    server.end()
    await task


def listen() -> tuple[socket.socket, str]:
    listening = socket.create_server(("127.0.0.1", 0))
    return listening, f"http://127.0.0.1:{listening.getsockname()[1]}"


@pytest.fixture
async def issuer(clock: HandClock) -> AsyncIterator[Issuer]:
    if not _SHARED_KEY:  # a new key costs a tenth of a second
        _SHARED_KEY.append(SigningKey("key-1"))
    listening, url = listen()
    issuer = Issuer(f"{url}/", clock, _SHARED_KEY[0])
    async with serve(issuer.build_app(), listening):
        yield issuer


@pytest.fixture
def oauth_settings() -> dict[str, Any]:
    return {"oauth_projects": "shop", "oauth_agent_claim": "email"}


@pytest.fixture
async def server(
    database: Any, clock: HandClock, issuer: Issuer, oauth_settings: dict[str, Any]
) -> AsyncIterator[ResourceServer]:
    listening, url = listen()
    chosen = {"auth": "on", "oauth_issuer": issuer.url, "oauth_resource": f"{url}/mcp"}
    settings = read_settings(chosen | oauth_settings, {})
    calls = Calls(database, CATALOGUE, settings, clock)
    await calls.bus.open()
    tokens = TokenCallers(database, settings, clock)
    identity, publisher = Identity(database, settings, clock, environ={}, tokens=tokens), Publisher()
    identity.open(calls.bus)
    events = ProjectEvents(calls, identity.identify)
    app = build_application(
        calls, identity, publisher, events, b"x" * 32, resource_routes=tokens.resource.public_routes()
    )
    async with serve(app, listening), httpx2.AsyncClient(timeout=PATIENCE_SECONDS) as client:
        yield ResourceServer(url, calls, identity, client)
        publisher.close()
        events.close()
    await tokens.close()
    await identity.close()
    await calls.bus.close()
