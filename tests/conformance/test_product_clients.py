"""The product itself under other people's clients: the Inspector and the SDK, both eras, HTTP and stdio."""

import asyncio
import json
import sys
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters, types
from test_conformance import inspect

import product
from commonplace.catalogue import CATALOGUE
from patience import PATIENCE_SECONDS

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("installed")]

CORE = frozenset(CATALOGUE.toolsets["core"])
CLIENTS = {
    "claude-code": CATALOGUE.listed_tools,
    "codex-mcp-client": CATALOGUE.listed_tools,
    "gemini-cli-mcp-client": CORE,
    "never-heard-of": CORE,
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[product.Product]:
    with product.running("--data", str(tmp_path_factory.mktemp("data"))) as running:
        yield running


@pytest.fixture(params=["http", "stdio"])
def over(request: pytest.FixtureRequest, server: product.Product, tmp_path: Path) -> list[str]:
    if request.param == "http":
        return [f"{server.url}/mcp", "--transport", "http"]
    # The Inspector takes flags that it knows for its own, so the settings travel in the environment.
    script = str(Path(sys.executable).with_name("commonplace"))
    return ["env", "COMMONPLACE_TRANSPORT=stdio", f"COMMONPLACE_DATA={tmp_path / 'stdio'}", script, "serve"]


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_inspector_lists_the_tools_without_complaint(over: list[str], era: str):
    listed = inspect(over, era, "--method", "tools/list", "--strict")
    assert {tool["name"] for tool in listed["tools"]} == CORE


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_inspector_starts_a_session(over: list[str], era: str):
    call = ("--method", "tools/call", "--tool-name", "memory_start_session", "--tool-arg", "project=shop")
    text = inspect(over, era, *call)["content"][0]["text"]
    assert json.loads(text)["project"] == "shop"


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_sdk_client_works_over_stdio(tmp_path: Path, mode: str):
    command = product.command("serve", "--transport", "stdio", "--data", str(tmp_path))
    server = StdioServerParameters(command=command[0], args=command[1:], env=product.environment())
    async with asyncio.timeout(PATIENCE_SECONDS), Client(server, mode=mode) as client:
        listed = await client.list_tools()
        called = await client.call_tool("memory_start_session", {"project": "shop"})
        refused = await client.call_tool("memory_heartbeat", {"session_id": "nobody"})
    assert {tool.name for tool in listed.tools} == CORE
    assert json.loads(called.content[0].text)["project"] == "shop"
    assert (refused.is_error, json.loads(refused.content[0].text)["error"]) == (True, "session_not_found")


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("/mcp/x/core", CORE),
        ("/mcp/x/admin", CATALOGUE.toolsets["admin"]),
        ("/mcp/x/all", CATALOGUE.listed_tools),
    ],
)
async def test_sdk_client_sees_the_toolset_of_its_address(
    server: product.Product, path: str, names: Collection[str]
):
    async with asyncio.timeout(PATIENCE_SECONDS), Client(f"{server.url}{path}") as client:
        listed = await client.list_tools()
    assert {tool.name for tool in listed.tools} == set(names)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("name", CLIENTS)
async def test_client_is_shown_what_it_can_hold_and_reaches_everything(
    server: product.Product, name: str, mode: str
):
    client_info = types.Implementation(name=name, version="1")
    async with (
        asyncio.timeout(PATIENCE_SECONDS),
        Client(f"{server.url}/mcp", mode=mode, client_info=client_info) as client,
    ):
        listed = await client.list_tools()
        started = await client.call_tool("memory_start_session", {"project": "shop"})
        own = {"session_id": json.loads(started.content[0].text)["session_id"]}
        found = await client.call_tool("memory_find_operation", {"query": "add a task to the backlog"})
        first = json.loads(found.content[0].text)["operations"][0]["name"]
        added = await client.call_tool(
            "memory_call_operation", own | {"name": first, "arguments": {"title": "Sell tea"}}
        )
        items = await client.call_tool("memory_list_backlog", own)
    assert {tool.name for tool in listed.tools} == CLIENTS[name]
    assert (first, added.is_error) == ("memory_add_backlog_item", False)
    assert "Sell tea" in items.content[0].text
