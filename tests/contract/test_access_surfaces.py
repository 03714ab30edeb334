"""The same matrix over the wire: REST and both MCP generations ask the same path, and nothing gets in beside it."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from test_access_matrix import ACTS, FOREIGN, OWN, REFUSED, ROLES, Key, Stage, arguments, cases

from commonplace.call import Calls
from commonplace.catalogue import CATALOGUE
from commonplace.config import Settings
from commonplace.edges.application import build_application
from commonplace.edges.identity import Identity
from commonplace.edges.mcp.publisher import Publisher
from commonplace.edges.project_events import ProjectEvents
from commonplace.store.migrate import migrate
from commonplace.store.sqlite import Sqlite

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Wire:
    """Sends requests to the application as its server would."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def post(
        self, path: str, body: dict[str, Any], headers: dict[str, str]
    ) -> tuple[int, dict[str, Any]]:
        encoded = json.dumps(body).encode()
        named = {
            "host": "127.0.0.1",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
        }
        scope = {
            "type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"",
            "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8080), "scheme": "http", "http_version": "1.1",
            "headers": [(k.encode(), v.encode()) for k, v in (named | headers | {"content-length": str(len(encoded))}).items()],
        }  # fmt: skip
        incoming = [{"type": "http.request", "body": encoded, "more_body": False}]
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return incoming.pop(0) if incoming else await asyncio.get_running_loop().create_future()

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        answer = b"".join(message.get("body", b"") for message in sent)
        return sent[0]["status"], json.loads(answer)


async def over_rest(wire: Wire, tool: str, given: dict[str, Any], key: Key) -> str:
    status, reply = await wire.post(f"/api/{tool}", given, {"authorization": f"Bearer {key.secret}"})
    return "ok" if status == 200 else reply["error"]


async def over_mcp(wire: Wire, tool: str, given: dict[str, Any], key: Key) -> str:
    headers = {
        "authorization": f"Bearer {key.secret}",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": tool,
    }
    params = {"name": tool, "arguments": given, "_meta": META}
    _, reply = await wire.post(
        "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, headers
    )
    if "error" in reply:
        return "forbidden" if reply["error"]["code"] == -32602 else str(reply["error"])
    result = reply["result"]
    return json.loads(result["content"][0]["text"])["error"] if result.get("isError") else "ok"


SURFACES = {"rest": over_rest, "mcp": over_mcp}


@contextlib.asynccontextmanager
async def wired(folder: Path, clock: Any) -> AsyncIterator[tuple[Stage, Wire]]:
    database = Sqlite(folder, clock)
    await migrate(database)
    calls = Calls(database, CATALOGUE, Settings(auth="on"), clock)
    stage = Stage(calls)
    await stage.set_up()
    identity = Identity(database, calls.settings, clock)
    events = ProjectEvents(calls, identity.identify)
    app = build_application(calls, identity, Publisher(), events, b"x" * 32)
    yield stage, Wire(app)
    await database.close()


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.slow
async def test_access_over_the_wire_is_as_declared(tmp_path: Path, clock: Any, surface: str):
    wrong = []
    asked_for = {name for names in CATALOGUE.toolsets_on_request.values() for name in names}
    async with wired(tmp_path / "data", clock) as (stage, wire):
        for tool, picked, act in (param.values for param in ACTS):
            sent = {project: picked | arguments(act, project) for project in (OWN, FOREIGN)}
            for case in cases(act):
                for role in ROLES:
                    clock.advance(seconds=1)
                    key, session = await stage.present(act, case, role)
                    code = await SURFACES[surface](wire, tool, session | sent[case.project], key)
                    offered = surface == "rest" or tool in CATALOGUE.model_tools | asked_for
                    allowed = offered and key.caller.has_role(act.role) and case.expected is None
                    if case.expected != "either" and allowed == (code in REFUSED):
                        wrong.append(f"{tool} {picked}: {case.what} as {role}: {code}")
    assert wrong == []


async def test_readonly_view_narrows_what_any_key_may_do(tmp_path: Path, clock: Any):
    async with wired(tmp_path / "data", clock) as (stage, wire):
        key, session = await stage.present(ACTS[1].values[2], next(cases(ACTS[1].values[2])), "owner")
        headers = {
            "authorization": f"Bearer {key.secret}", "mcp-protocol-version": "2026-07-28",
            "mcp-method": "tools/call", "mcp-name": "memory_lock_files", "x-mcp-readonly": "true",
        }  # fmt: skip
        params = {"name": "memory_lock_files", "arguments": session | {"files": ["a.py"]}, "_meta": META}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        for path in ("/mcp", "/mcp/readonly", "/mcp/x/work/readonly"):
            _, reply = await wire.post(path, message, headers)
            assert json.loads(reply["result"]["content"][0]["text"])["error"] == "forbidden"


async def test_a_tool_beyond_the_role_of_a_key_is_refused_over_mcp_and_the_refusal_is_audited(
    tmp_path: Path, clock: Any
):
    act = next(param.values[2] for param in ACTS if param.values[0] == "memory_store")
    async with wired(tmp_path / "data", clock) as (stage, wire):
        key, session = await stage.present(act, next(cases(act)), "readonly")
        headers = {
            "authorization": f"Bearer {key.secret}", "mcp-protocol-version": "2026-07-28",
            "mcp-method": "tools/call", "mcp-name": "memory_store",
        }  # fmt: skip
        arguments_sent = session | {"title": "a", "content": "b", "memory_type": "adr"}
        params = {"name": "memory_store", "arguments": arguments_sent, "_meta": META}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        _, reply = await wire.post("/mcp", message, headers)
        rows = await stage.calls.database.read(
            lambda tx: tx.all(
                "select outcome from audit where operation = 'memory_store' and key_id = $1", key.caller.key
            )
        )
    assert reply["result"]["isError"]
    assert json.loads(reply["result"]["content"][0]["text"])["error"] == "forbidden"
    assert [row["outcome"] for row in rows] == ["forbidden"]
