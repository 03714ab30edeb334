"""The official judges: the conformance suite, the Inspector and the SDK's own client, in both eras."""

import asyncio
import json

import mcp_programs
import pytest
from mcp import Client, StdioServerParameters
from mcp_servers import FIXTURES

from patience import PATIENCE_SECONDS

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("installed")]

MODES = {"legacy": "2025-11-25", "auto": "2026-07-28"}


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_conformance_suite_finds_no_fault(url, revision):
    verdict = mcp_programs.run(mcp_programs.SUITE, "server", "--url", url, "--requirements", revision)
    assert verdict.returncode == 0, verdict.stdout[-4000:] + verdict.stderr[-1000:]


def inspect(target: list[str], era: str, *arguments: str) -> dict:
    patience = f"{1000 * PATIENCE_SECONDS:.0f}"
    options = ["--protocol-era", era, "--connect-timeout", patience, "--format", "json"]
    seen = mcp_programs.run(mcp_programs.INSPECTOR, "--cli", *target, *options, *arguments)
    assert seen.returncode == 0, seen.stdout + seen.stderr
    return json.loads(seen.stdout)["result"]


@pytest.fixture(params=["http", "stdio"])
def target(request, url) -> list[str]:
    return [url, "--transport", "http"] if request.param == "http" else FIXTURES


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_inspector_lists_every_tool_without_complaint(target, era):
    listed = inspect(target, era, "--method", "tools/list", "--strict")
    assert "echo" in {tool["name"] for tool in listed["tools"]}


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_inspector_calls_a_tool(target, era):
    call = ("--method", "tools/call", "--tool-name", "echo", "--tool-arg", "text=hello")
    assert inspect(target, era, *call)["content"] == [{"type": "text", "text": '{"text":"hello"}'}]


@pytest.fixture(params=["http", "stdio"])
def server(request, url) -> str | StdioServerParameters:
    return url if request.param == "http" else StdioServerParameters(command=FIXTURES[0], args=FIXTURES[1:])


@pytest.mark.parametrize("mode", MODES)
async def test_sdk_client_lists_and_calls(server, mode):
    async with asyncio.timeout(PATIENCE_SECONDS), Client(server, mode=mode) as client:
        listed = await client.list_tools()
        called = await client.call_tool("echo", {"text": "hello"})
        assert client.protocol_version == MODES[mode]
    assert "echo" in {tool.name for tool in listed.tools}
    assert called.content[0].text == '{"text":"hello"}'
