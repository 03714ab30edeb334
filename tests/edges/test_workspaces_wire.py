"""Workspaces over the wire: a real MCP client, and the two tokens of the environment."""

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from mcp import Client

import product
from patience import PATIENCE_SECONDS

LAPTOP = {"machine": "laptop", "tool": "claude-code", "project": "shop"}


async def call(client: Client, name: str, /, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(name, arguments)
    return json.loads(result.content[0].text)


async def test_an_mcp_client_registers_writes_searches_and_reads(address: Path | str, tmp_path: Path):
    with product.running(*product.store_flags(address, tmp_path / "client")) as server:
        async with Client(f"{server.url}/mcp") as client:
            made = await call(client, "register_workspace", **LAPTOP)
            place = made["workspace_id"]
            await call(client, "write_overview", content="# Shop on the laptop")
            await call(
                client, "write_knowledge", path="notes/cart.md", content="# Cart\nTotals are in cents."
            )
            found = await call(client, "search_knowledge", query="cents", mode="regex")
            smart = await call(client, "search_knowledge", query="cart totals")
            refused = await call(client, "write_knowledge", path="../x.md", content="x")
            overview = await call(client, "get_overview", workspace_id=place)
            file = json.loads(
                (await client.read_resource(f"workspace://{place}/notes/cart.md")).contents[0].text
            )
    assert [(each["path"], each["line"]) for each in found["matches"]] == [("notes/cart.md", 2)]
    assert [each["path"] for each in smart["matches"]] == ["notes/cart.md"]
    assert refused["error"] == "invalid"
    assert (overview["readme"], overview["your_workspace"]) == ("# Shop on the laptop", place)
    assert file["content"] == "# Cart\nTotals are in cents."


async def test_a_workspace_of_any_script_is_read_and_followed_in_either_spelling(tmp_path: Path):
    with product.running("--data", str(tmp_path)) as server:
        async with Client(f"{server.url}/mcp") as client:
            made = await call(client, "register_workspace", machine="Büro", tool="codex", project="日本")
            place = quote(made["workspace_id"])
            spellings = {f"workspace://{made['workspace_id']}", f"workspace://{place}"}
            async with client.listen(resource_subscriptions=sorted(spellings)) as heard:
                await call(client, "write_overview", content="# 店")
                async with asyncio.timeout(PATIENCE_SECONDS):
                    told = {str((await anext(aiter(heard))).uri) for _ in spellings}
            pages = [(await client.read_resource(uri)).contents[0].text for uri in sorted(spellings)]
        token = {"X-Write-Token": made["write_token"]}
        stored, _, _ = server.request("PUT", f"/archives/{place}/s1", b'{"role":"user"}\n', token)
    assert (made["workspace_id"], told, stored) == ("büro-codex-日本", spellings, 200)
    assert [json.loads(page)["readme"] for page in pages] == ["# 店"] * 2


def run(*arguments: str) -> str:
    return subprocess.run(
        product.command(*arguments), env=product.environment(), capture_output=True, text=True, check=True
    ).stdout


TOKENS = {"MCP_TOKEN": "token of agents", "SYNC_TOKEN": "token of machines"}


def test_both_tokens_of_the_environment_do_their_part(tmp_path: Path):
    with product.running("--data", str(tmp_path / "data"), "--auth", "on", **TOKENS) as server:
        agent = server.call("register_workspace", "token of agents", **LAPTOP)
        sync = server.call("register_workspace", "token of machines", **LAPTOP)
        place = {"workspace_id": agent["workspace_id"]}
        server.call("write_overview", "token of agents", content="# Shop")
        server.call(
            "upload_knowledge",
            "token of machines",
            path="a.md",
            content="x",
            write_token=sync["write_token"],
            **place,
        )
        seen = server.call("get_overview", "token of machines", **place)
        with pytest.raises(product.Refused) as refused:
            server.call("write_overview", "token of machines", content="# Mine", **place)
        status, _, _ = server.request("POST", "/api/get_overview", b"{}", {"Authorization": "Bearer wrong"})
    assert (agent["bound"], "write_token" in agent) == (True, False)
    assert (seen["readme"], seen["workspaces"][0]["knowledge_count"]) == ("# Shop", 1)
    assert (refused.value.status, status) == (403, 401)


def test_a_key_made_on_the_command_line_is_held_to_its_machine_and_its_token_revoked(tmp_path: Path):
    data = ("--data", str(tmp_path / "data"))
    key = run(
        *("key", "create", "--name", "sync", "--role", "sync", "--projects", "shop", "--machines", "laptop"),
        *data,
    ).split()[0]
    with product.running(*data, "--auth", "on") as server:
        made = server.call("register_workspace", key, **LAPTOP)
        with pytest.raises(product.Refused) as elsewhere:
            server.call("register_workspace", key, **(LAPTOP | {"machine": "desk"}))
        run("key", "revoke-writer", made["workspace_id"], *data)
        with pytest.raises(product.Refused) as ended:
            server.call("upload_knowledge", key, path="a.md", content="x", **_token(made))
    assert (elsewhere.value.body["error"], ended.value.body["error"]) == ("forbidden", "forbidden")


def _token(made: dict[str, Any]) -> dict[str, str]:
    return {name: made[name] for name in ("workspace_id", "write_token")}
