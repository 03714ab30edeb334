"""A listener hears what the agent of its window may hear, with keys off and with one key for a team; nobody else's mail."""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest

from commonplace import access
from commonplace.call import Calls
from commonplace.catalogue import CATALOGUE
from commonplace.config import Settings
from commonplace.edges.application import build_application
from commonplace.edges.identity import Identity
from commonplace.edges.mcp.publisher import Publisher
from commonplace.edges.project_events import ProjectEvents
from commonplace.store.database import Database
from patience import PATIENCE_SECONDS
from quick_server import QuickServer
from team import HandClock

MODERN = "2026-07-28"
MODERN_META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}


@dataclass
class Server:
    url: str
    client: httpx2.AsyncClient


@dataclass
class Connection:
    """One agent's connection to /mcp, in either era."""

    server: Server
    headers: dict[str, str]
    meta: dict[str, Any]

    async def request(self, method: str, **params: Any) -> httpx2.Response:
        headers, message = self.build_message(method, params)
        return await self.server.client.post(f"{self.server.url}/mcp", json=message, headers=headers)

    def build_message(self, method: str, params: dict[str, Any]) -> tuple[dict[str, str], dict[str, Any]]:
        headers, meta = {"accept": "application/json, text/event-stream"} | self.headers, dict(self.meta)
        if "mcp-session-id" not in headers:
            headers |= {"mcp-protocol-version": MODERN, "mcp-method": method}
            headers |= {"mcp-name": params["name"]} if "name" in params else {}
            meta |= MODERN_META
        params = params | {"_meta": meta}
        return headers, {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}

    async def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        answer = await self.request("tools/call", name=tool, arguments=arguments)
        return json.loads(answer.json()["result"]["content"][0]["text"])

    async def start(self, agent: str) -> str:
        started = await self.call("memory_start_session", project="shop", claude_instance=agent)
        return str(started["session_id"])

    @contextlib.asynccontextmanager
    async def listen(self, *uris: str) -> AsyncIterator[tuple[list[str], AsyncIterator[dict[str, Any]]]]:
        """The addresses that were granted, and what is heard of them."""
        if "mcp-session-id" in self.headers:
            answers = {uri: (await self.request("resources/subscribe", uri=uri)).json() for uri in uris}
            async with self.server.client.stream(
                "GET",
                f"{self.server.url}/mcp",
                headers={"accept": "text/event-stream"} | self.headers,
            ) as stream:
                yield [uri for uri in uris if "error" not in answers[uri]], read_messages(stream)
            return
        wanted = {"notifications": {"resourceSubscriptions": list(uris)}}
        headers, message = self.build_message("subscriptions/listen", wanted)
        async with self.server.client.stream(
            "POST", f"{self.server.url}/mcp", json=message, headers=headers
        ) as stream:
            heard = read_messages(stream)
            granted = (await anext(heard))["params"]["notifications"].get("resourceSubscriptions", [])
            yield granted, heard


async def read_messages(answer: httpx2.Response) -> AsyncIterator[dict[str, Any]]:
    async for line in answer.aiter_lines():
        if line.startswith("data: "):
            yield json.loads(line.removeprefix("data: "))


async def next_uri(heard: AsyncIterator[dict[str, Any]]) -> str:
    message = await asyncio.wait_for(anext(heard), PATIENCE_SECONDS)
    return str(message["params"]["uri"])


@pytest.fixture(params=["keys off", "one key"])
async def server(
    request: pytest.FixtureRequest, database: Database, clock: HandClock
) -> AsyncIterator[Server]:
    settings = Settings(auth="off" if request.param == "keys off" else "on")
    calls = Calls(database, CATALOGUE, settings, clock)
    await calls.bus.open()
    identity, publisher = Identity(database, settings, clock, environ={}), Publisher()
    following = ProjectEvents(calls, identity.identify)
    app = build_application(calls, identity, publisher, following, b"x" * 32)
    headers = {}
    if request.param == "one key":
        arguments = {"action": "create_key", "name": "team", "projects": ["shop"]}
        made = await calls.run("memory_admin", arguments, access.OPERATOR)
        headers = {"authorization": f"Bearer {made.reply.key}"}
    listening = socket.create_server(("127.0.0.1", 0))
    running = QuickServer(app)
    task = asyncio.create_task(running.serve(sockets=[listening]))
    client = httpx2.AsyncClient(timeout=PATIENCE_SECONDS, headers=headers)
    yield Server(f"http://127.0.0.1:{listening.getsockname()[1]}", client)
    publisher.close()
    following.close()
    await client.aclose()
    running.end()
    await task
    await calls.bus.close()


async def connect(server: Server, era: str, name: str) -> Connection:
    connection = Connection(server, {}, {"threadId": f"thread-{name}"})
    if era == "legacy":
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "gemini-cli"}}
        message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
        answer = await server.client.post(f"{server.url}/mcp", json=message)
        connection = Connection(server, {"mcp-session-id": answer.headers["mcp-session-id"]}, {})
    await connection.start(name)
    return connection


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_listener_hears_the_mail_of_its_agent_and_of_nobody_else(server: Server, era: str):
    alice, bob = [await connect(server, era, name) for name in ("alice", "bob")]
    async with bob.listen("inbox://shop/bob", "inbox://shop/alice", "agents://shop") as (granted, heard):
        assert granted == ["inbox://shop/bob", "agents://shop"]
        await bob.call("memory_send_message", to_instance="alice", message="for alice")
        await alice.call("memory_send_message", to_instance="bob", message="for bob")
        assert await next_uri(heard) == "inbox://shop/bob"


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_listener_hears_its_own_private_notes_only(server: Server, era: str):
    alice, bob = [await connect(server, era, name) for name in ("alice", "bob")]
    board = (await alice.call("create_session", purpose="plan"))["session_id"]
    address = f"session://{board}"
    async with alice.listen(address, "inbox://shop/alice") as (granted, heard):
        assert granted == [address, "inbox://shop/alice"]
        await bob.call("add_private_note", session_id=board, content="of bob")
        await bob.call("memory_send_message", to_instance="alice", message="after it")
        assert await next_uri(heard) == "inbox://shop/alice"
        await alice.call("add_private_note", session_id=board, content="of alice")
        assert await next_uri(heard) == address


async def test_a_listener_follows_the_agent_that_its_connection_acts_as(server: Server):
    alice = await connect(server, "legacy", "alice")
    bob = await connect(server, "legacy", "bob")
    async with alice.listen("inbox://shop/alice", "agents://shop") as (granted, heard):
        assert granted == ["inbox://shop/alice", "agents://shop"]
        await alice.call("memory_end_session", summary="done")
        assert await next_uri(heard) == "agents://shop"
        await alice.start("carol")
        assert await next_uri(heard) == "agents://shop"
        await bob.call("memory_send_message", to_instance="alice", message="to who left")
        await bob.call("memory_heartbeat", status="busy", current_task="tax")
        assert await next_uri(heard) == "agents://shop"


async def test_events_of_a_session_are_those_that_its_agent_may_hear(server: Server):
    alice, bob = [await connect(server, "modern", name) for name in ("alice", "bob")]
    session = await alice.start("alice")
    async with server.client.stream(
        "GET", f"{server.url}/events?project=shop", headers={"x-commonplace-session": session}
    ) as stream:
        heard = read_messages(stream)
        await bob.call("add_message", session_id=await _private_board(bob), content="x", visibility="private")
        await alice.call("memory_send_message", to_instance="bob", message="for bob")
        await bob.call("memory_send_message", to_instance="alice", message="for alice")
        seen = [await asyncio.wait_for(anext(heard), PATIENCE_SECONDS) for _ in range(2)]
    assert [(event["kind"], event["uri"]) for event in seen][1] == ("MessageSent", "inbox://shop/alice")
    assert seen[0]["kind"] == "SessionCreated"


async def _private_board(agent: Connection) -> str:
    return str((await agent.call("create_session", purpose="mine"))["session_id"])


async def test_events_of_an_ended_session_hold_nothing_private(server: Server):
    alice, bob = [await connect(server, "modern", name) for name in ("alice", "bob")]
    session = await alice.start("alice")
    await alice.call("memory_end_session", summary="done")
    async with server.client.stream(
        "GET", f"{server.url}/events?project=shop", headers={"x-commonplace-session": session}
    ) as stream:
        heard = read_messages(stream)
        await bob.call("memory_send_message", to_instance="alice", message="to who left")
        await bob.call("memory_lock_files", files=["a.py"])
        assert (await asyncio.wait_for(anext(heard), PATIENCE_SECONDS))["kind"] == "FilesLocked"
