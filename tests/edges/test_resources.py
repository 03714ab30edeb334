"""Resources, completions and prompts through the official client."""

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import PromptReference, ResourceTemplateReference
from test_push import Follower

import product
from patience import PATIENCE_SECONDS
from team import on_sqlite


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    reply = json.loads(result.content[0].text)
    assert not result.is_error, reply
    return reply


@asynccontextmanager
async def at_work(address: Path | str, tmp_path: Path) -> AsyncIterator[tuple[Client, str]]:
    """A client with a session of ann in the shop."""
    with product.running(*product.store_flags(address, tmp_path / "client")) as server:
        async with Client(f"{server.url}/mcp") as client:
            started = await call(client, "memory_start_session", project="shop", claude_instance="ann")
            yield client, started["session_id"]


async def test_resources_show_live_state(address: Path | str, tmp_path: Path):
    async with at_work(address, tmp_path) as (client, ann):
        await call(client, "memory_lock_files", session_id=ann, files=["a.py"])
        await call(client, "memory_add_backlog_item", session_id=ann, title="Cart")
        await call(client, "memory_define_spec", session_id=ann, name="cart api", content="GET /cart")
        stored = await call(
            client, "memory_record_learning", session_id=ann, topic="Carts", content="They expire."
        )
        document = f"memory://{stored['id']}"
        listed = {str(each.uri) for each in (await client.list_resources()).resources}
        assert {"locks://shop", "backlog://shop", "agents://shop"} <= listed
        seen = {}
        for uri in (
            "locks://shop",
            "backlog://shop",
            "agents://shop",
            "spec://shop/cart%20api",
            "inbox://shop/ann",
            document,
        ):
            seen[uri] = json.loads((await client.read_resource(uri)).contents[0].text)
    assert seen["locks://shop"]["locks"][0]["file"] == "a.py"
    assert seen["backlog://shop"]["items"][0]["title"] == "Cart"
    assert seen["agents://shop"]["agents"][0]["instance"] == "ann"
    assert seen["spec://shop/cart%20api"]["content"] == "GET /cart"
    assert seen["inbox://shop/ann"] == {"unread": 0, "messages": []}
    assert (seen[document]["title"], seen[document]["content"]) == ("Carts", "They expire.")


@on_sqlite
async def test_unknown_resources_are_not_found(address: Path | str, tmp_path: Path):
    async with at_work(address, tmp_path) as (client, _):
        for uri in ("spec://shop/nothing", "nothing://shop", "locks://"):
            with pytest.raises(MCPError):
                await client.read_resource(uri)


@on_sqlite
async def test_completions_know_what_there_is(address: Path | str, tmp_path: Path):
    async with at_work(address, tmp_path) as (client, ann):
        await call(client, "memory_define_spec", session_id=ann, name="cart api", content="GET /cart")
        inbox = ResourceTemplateReference(uri="inbox://{project}/{agent}")
        spec = ResourceTemplateReference(uri="spec://{project}/{name}")
        prompt = PromptReference(name="start-work")
        asked = [
            (inbox, "project", "sh"),
            (inbox, "agent", "a"),
            (spec, "name", "cart"),
            (prompt, "project", "x"),
        ]
        found = [
            (await client.complete(ref, {"name": name, "value": value})).completion.values
            for ref, name, value in asked
        ]
    assert found == [["shop"], ["ann"], ["cart api"], []]


@on_sqlite
async def test_prompts_are_filled_with_the_state_of_now(address: Path | str, tmp_path: Path):
    async with at_work(address, tmp_path) as (client, ann):
        await call(client, "memory_lock_files", session_id=ann, files=["a.py"], reason="rename")
        names = {prompt.name for prompt in (await client.list_prompts()).prompts}
        filled = await client.get_prompt("start-work", {"project": "shop", "agent": "ann", "task": "tax"})
        with pytest.raises(MCPError):
            await client.get_prompt("start-work", {})
    assert names == {"start-work", "hand-off", "review-handoff", "triage-backlog"}
    text = filled.messages[0].content.text
    assert "rename" in text
    assert len(text) < 9000


def make_key(tmp_path: Path, agent: str) -> str:
    made = subprocess.run(
        product.command("key", "create", "--name", agent, "--agent", agent, "--projects", "shop", "--data", str(tmp_path)),
        capture_output=True, text=True, check=True, env=product.environment(),
    )  # fmt: skip
    return made.stdout.split()[0]


class Listener:
    """One agent that listens to a blackboard through a client of its own."""

    def __init__(self, server: product.Product, key: str) -> None:
        self.heard: asyncio.Queue[str] = asyncio.Queue()
        self._server, self._key = server, key

    @asynccontextmanager
    async def listening(self, uri: str) -> AsyncIterator["Listener"]:
        import httpx2  # noqa: PLC0415 - the SDK's own HTTP client
        from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415

        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {self._key}"}) as http:
            transport = streamable_http_client(f"{self._server.url}/mcp", http_client=http)
            async with Client(transport) as client, client.listen(resource_subscriptions=[uri]) as events:

                async def follow() -> None:
                    async for event in events:
                        self.heard.put_nowait(str(event.uri))

                following = asyncio.create_task(follow())
                yield self
                following.cancel()


async def test_private_notes_are_told_to_their_owner_alone(tmp_path: Path):
    ann, ben = make_key(tmp_path, "ann"), make_key(tmp_path, "ben")
    with product.running("--data", str(tmp_path), "--auth", "on") as server:
        board = server.call("create_session", ann, purpose="plan", project="shop")["session_id"]
        uri = f"session://{board}"
        async with Listener(server, ann).listening(uri) as anns, Listener(server, ben).listening(uri) as bens:
            server.call("add_private_note", ann, session_id=board, content="mine")
            assert await asyncio.wait_for(anns.heard.get(), PATIENCE_SECONDS) == uri
            server.call("add_message", ben, session_id=board, content="for all")
            assert await asyncio.wait_for(bens.heard.get(), PATIENCE_SECONDS) == uri
            assert bens.heard.empty()
        texts = json.loads(
            server.request(
                "POST",
                "/api/get_context",
                json.dumps({"session_id": board}).encode(),
                {"Authorization": f"Bearer {ben}"},
            )[1]
        )
    assert [message["content"] for message in texts["messages"]] == ["for all"]


async def test_event_stream_tells_nobody_of_another_agents_notes(tmp_path: Path):
    ann, ben = make_key(tmp_path, "ann"), make_key(tmp_path, "ben")
    with product.running("--data", str(tmp_path), "--auth", "on") as server:
        board = server.call("create_session", ann, purpose="plan", project="shop")["session_id"]
        async with Follower(server, key=ben) as bens, Follower(server, key=ann) as anns:
            server.call("add_private_note", ann, session_id=board, content="mine")
            server.call("add_message", ann, session_id=board, content="for all")
            heard = [(await anns.event())["body"]["sequence"], (await anns.event())["body"]["sequence"]]
            assert (heard, (await bens.event())["body"]["sequence"]) == ([1, 2], 2)
