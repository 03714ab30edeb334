"""Nothing is built at a first request: a hook that waits for its boot pack beside a first tools/list gets it in time."""

import asyncio
import http.client
import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pydantic
import pytest

from commonplace import server, tool_schema
from commonplace.catalogue import CATALOGUE
from commonplace.config import Settings
from commonplace.operation import Operation
from commonplace.room import list_operations
from patience import PATIENCE_SECONDS

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
LEGACY_START = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


def list_all_operations() -> Iterator[Operation]:
    for tool in CATALOGUE.tools.values():
        yield from list_operations(tool)
    yield from (resource.operation for resource in CATALOGUE.resources)


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the models and schemas that are built, in a catalogue that has built none yet."""
    names: list[str] = []
    create_model, model_json_schema = pydantic.create_model, pydantic.BaseModel.model_json_schema.__func__

    def create(model: str, /, **more: Any) -> Any:
        names.append(model)
        return create_model(model, **more)

    def describe(model: type[pydantic.BaseModel], *arguments: Any, **more: Any) -> dict[str, Any]:
        names.append(f"schema of {model.__name__}")
        return model_json_schema(model, *arguments, **more)

    monkeypatch.setattr(pydantic, "create_model", create)
    monkeypatch.setattr(pydantic.BaseModel, "model_json_schema", classmethod(describe))
    for operation in list_all_operations():
        for name in ("argument_model", "_validator", "_list_arguments"):
            operation.__dict__.pop(name, None)
    for cached in (tool_schema.encode_tool_definition, tool_schema._model_schema):
        cached.cache_clear()
    return names


async def run_beside_server(folder: Path, requests: Callable[[str], None]) -> None:
    """Serve as `commonplace serve` does, and send the requests as soon as it listens."""
    listening: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(server.serve_http(Settings(data=folder, port=0), listening.set_result))
    async with asyncio.timeout(PATIENCE_SECONDS):
        await asyncio.wait([serving, listening], return_when=asyncio.FIRST_COMPLETED)
        try:
            await asyncio.to_thread(requests, listening.result().partition("://")[2])
        finally:
            os.kill(os.getpid(), signal.SIGTERM)
            await serving


def post(
    authority: str, path: str, body: dict[str, Any], **headers: str
) -> tuple[dict[str, Any], dict[str, str]]:
    connection = http.client.HTTPConnection(authority, timeout=PATIENCE_SECONDS)
    accept = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        connection.request("POST", path, json.dumps(body), accept | named)
        answer = connection.getresponse()
        text = answer.read()
        assert answer.status == 200, text
        return json.loads(text), {name.lower(): value for name, value in answer.getheaders()}
    finally:
        connection.close()


def list_tools(authority: str, path: str) -> None:
    """In both eras."""
    modern = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": META}}
    protocol = {"MCP_Protocol_Version": "2026-07-28", "Mcp_Method": "tools/list"}
    assert post(authority, path, modern, **protocol)[0]["result"]["tools"]
    start = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": LEGACY_START}
    session = post(authority, path, start)[1]["mcp-session-id"]
    legacy = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    assert post(authority, path, legacy, Mcp_Session_Id=session)[0]["result"]["tools"]


async def test_first_lists_and_calls_build_nothing(tmp_path: Path, built: list[str]):
    def send_first_requests(authority: str) -> None:
        assert built, "the server has built everything before it listens"
        built.clear()
        for view in ("", *(f"/x/{toolset}" for toolset in CATALOGUE.toolsets)):
            list_tools(authority, f"/mcp{view}")
            list_tools(authority, f"/mcp{view}/readonly")
        session = post(authority, "/api/memory_start_session", {"project": "shop"})[0]["session_id"]
        post(authority, "/api/memory_get_locks", {"session_id": session})
        post(authority, "/api/memory_end_session", {"session_id": session, "summary": "Done"})

    await run_beside_server(tmp_path, send_first_requests)
    assert built == []


def test_every_operation_is_prepared(built: list[str]):
    tool_schema.prepare_schemas(CATALOGUE)
    missing = [
        operation.name for operation in list_all_operations() if "argument_model" not in vars(operation)
    ]
    assert (missing, len(built) > len(CATALOGUE.tools)) == ([], True)
