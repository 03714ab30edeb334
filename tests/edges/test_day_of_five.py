"""A day of five agents in two projects, each through another door: nobody is unknown, and private is private.

None of them passes a session_id after its start: the door must know them.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

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
from team import HandClock

PROJECTS = {"alice": "shop", "bob": "shop", "carol": "shop", "dave": "bank", "erin": "bank"}
MODERN = "2026-07-28"
MODERN_META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}


@dataclass
class Town:
    """The server's HTTP application and the keys that its agents use."""

    app: Any
    database: Database
    keys: dict[str, str]

    async def post(
        self, agent: str, path: str, body: dict[str, Any], headers: dict[str, str]
    ) -> tuple[dict[str, str], Any]:
        encoded = json.dumps(body).encode()
        sent_headers = headers | {"host": "127.0.0.1", "content-length": str(len(encoded))}
        if key := self.keys.get(agent):
            sent_headers["authorization"] = f"Bearer {key}"
        scope = {
            "type": "http",
            "method": "POST",
            "path": path,
            "query_string": b"",
            "client": ("127.0.0.1", 1),
            "headers": [
                (name.encode(), value.encode())
                for name, value in (sent_headers | {"accept": "application/json, text/event-stream"}).items()
            ],
        }
        incoming = [{"type": "http.request", "body": encoded, "more_body": False}]
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return incoming.pop(0) if incoming else await asyncio.get_running_loop().create_future()

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        answer = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return answer, json.loads(b"".join(message.get("body", b"") for message in sent))


@dataclass
class Visitor:
    """An agent at its door; `call` gives the reply, or the refusal's body."""

    town: Town
    name: str
    headers: dict[str, str] = field(default_factory=dict)
    meta: dict[str, Any] = field(default_factory=dict)

    async def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        headers, meta = dict(self.headers), dict(self.meta)
        if "mcp-session-id" not in headers:
            headers |= {"mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": tool}
            meta |= MODERN_META
        params = {"name": tool, "arguments": arguments, "_meta": meta}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        _, reply = await self.town.post(self.name, "/mcp", message, headers)
        return json.loads(reply["result"]["content"][0]["text"])


class RestVisitor(Visitor):
    async def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        return (await self.town.post(self.name, f"/api/{tool}", arguments, self.headers))[1]


class ClaudeVisitor(Visitor):
    """Claude Code over HTTP: its hook announces every call, and the call carries its own id."""

    async def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        self.count = getattr(self, "count", 0) + 1
        call_id = f"toolu_{self.count}"
        hook = {"x-commonplace-window": "claude:conversation", "x-commonplace-seat": "claude@laptop"}
        if self.count == 1:
            await self.town.post(
                self.name, "/api/memory_start_session", {"project": PROJECTS[self.name]}, hook
            )
        await self.town.post(self.name, "/api/bind_windows", {"windows": [f"claude-call:{call_id}"]}, hook)
        self.meta = {"claudecode/toolUseId": call_id}
        return await super().call(tool, **arguments)


async def at_legacy_mcp(town: Town, name: str) -> Visitor:
    """A client of the older protocol: its connection is the window."""
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "gemini-cli"}}
    message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    headers, _ = await town.post(name, "/mcp", message, {})
    return Visitor(town, name, {"mcp-session-id": headers["mcp-session-id"]})


async def at_modern_mcp(town: Town, name: str) -> Visitor:
    return Visitor(town, name, meta={"threadId": "t-1", "sessionId": "t-1"})


async def at_claude(town: Town, name: str) -> Visitor:
    return ClaudeVisitor(town, name)


async def at_rest(town: Town, name: str) -> Visitor:
    return RestVisitor(town, name, {"x-commonplace-window": "script:1"})


DOORS: dict[str, Callable[[Town, str], Awaitable[Visitor]]] = {
    "alice": at_legacy_mcp,
    "bob": at_legacy_mcp,
    "carol": at_modern_mcp,
    "dave": at_rest,
    "erin": at_claude,
}


@pytest.fixture(params=["keys off", "one key", "a key each"])
async def town(request: pytest.FixtureRequest, database: Database, clock: HandClock) -> AsyncIterator[Town]:
    settings = Settings(auth="off" if request.param == "keys off" else "on")
    calls = Calls(database, CATALOGUE, settings, clock)
    await calls.bus.open()
    identity = Identity(database, settings, clock, environ={})
    app = build_application(calls, identity, Publisher(), ProjectEvents(calls, identity.identify), b"x" * 32)

    async def make_key(name: str) -> str:
        given = {"action": "create_key", "name": name, "projects": ["*"]}
        return str((await calls.run("memory_admin", given, access.OPERATOR)).reply.key)

    keys: dict[str, str] = {}
    if request.param == "one key":
        keys = dict.fromkeys(PROJECTS, await make_key("team"))
    elif request.param == "a key each":
        keys = {name: await make_key(name) for name in PROJECTS}
    yield Town(app, database, keys)
    await calls.bus.close()


async def work_a_day(visitor: Visitor, board: str) -> None:
    """What each agent does; every value is its own name."""
    name = visitor.name
    started = await visitor.call(
        "memory_start_session", project=PROJECTS[name], claude_instance=name, task_description="the day"
    )
    assert (started["agent"], started["project"]) == (name, PROJECTS[name])
    for tool, arguments in (
        ("set_memory", {"key": "plan", "value": name}),
        ("add_private_note", {"session_id": board, "content": f"note of {name}"}),
        ("add_message", {"session_id": board, "content": f"hello from {name}"}),
        ("memory_lock_files", {"files": [f"{name}.py"]}),
        ("memory_record_learning", {"topic": f"What {name} learned", "content": f"Lesson of {name}."}),
        ("register_workspace", {"machine": "laptop", "tool": name, "project": PROJECTS[name]}),
        ("write_knowledge", {"path": "notes.md", "content": f"# {name}"}),
    ):
        reply = await visitor.call(tool, **arguments)
        assert "error" not in reply, (name, tool, reply)


async def test_five_agents_at_five_doors_are_five_agents(town: Town):
    visitors = {name: await enter(town, name) for name, enter in DOORS.items()}
    await visitors["alice"].call("memory_start_session", project="shop", claude_instance="alice")
    board = (await visitors["alice"].call("create_session", purpose="the day", project="shared"))[
        "session_id"
    ]
    for visitor in visitors.values():
        await work_a_day(visitor, board)
    for name, visitor in visitors.items():
        assert (await visitor.call("get_memory", key="plan"))["value"] == name
        notes = await visitor.call("get_context", session_id=board, visibility_filter="private")
        assert [(note["sender"], note["content"]) for note in notes["messages"]] == [
            (name, f"note of {name}")
        ]
        locks = await visitor.call("memory_get_locks")
        assert [lock["file"] for lock in locks["your_locks"]] == [f"{name}.py"]
        agents = await visitor.call("memory_list_agents")
        assert {agent["instance"] for agent in agents["agents"]} == {
            other for other, project in PROJECTS.items() if project == PROJECTS[name]
        }
    rows = await town.database.read(
        lambda tx: tx.all("select distinct agent from audit where outcome = $1 and role <> $2", "ok", "x")
    )
    assert {row["agent"] for row in rows} - {"operator", "claude"} == set(PROJECTS)


async def test_stranger_at_each_door_is_told_what_to_call(town: Town):
    for name, enter in DOORS.items():
        if name == "erin":
            continue
        refused = await (await enter(town, name)).call("set_memory", key="plan", value=1)
        assert (refused["error"], "memory_start_session" in refused["hint"]) == ("forbidden", True)
