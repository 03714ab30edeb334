"""The product itself under other people's clients: the Inspector and the SDK, both eras, HTTP and stdio."""

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from test_conformance import inspect

import product
from commonplace.catalogue import CATALOGUE
from patience import PATIENCE_SECONDS

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("installed")]

TOOLS = CATALOGUE.listed_tools


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
def test_inspector_lists_every_operation_without_complaint(over: list[str], era: str):
    listed = inspect(over, era, "--method", "tools/list", "--strict")
    assert {tool["name"] for tool in listed["tools"]} == TOOLS


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
    assert {tool.name for tool in listed.tools} == TOOLS
    assert json.loads(called.content[0].text)["project"] == "shop"
    assert (refused.is_error, json.loads(refused.content[0].text)["error"]) == (True, "session_not_found")


@pytest.mark.parametrize(
    ("path", "names"),
    [("/mcp/x/core", CATALOGUE.toolsets["core"]), ("/mcp/x/admin", CATALOGUE.toolsets["admin"])],
)
async def test_sdk_client_sees_the_toolset_of_its_address(
    server: product.Product, path: str, names: tuple[str, ...]
):
    async with asyncio.timeout(PATIENCE_SECONDS), Client(f"{server.url}{path}") as client:
        listed = await client.list_tools()
    assert {tool.name for tool in listed.tools} == set(names)
