"""Two agents at work: the real hook program, a real MCP client, a real server."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hooked import Agent, git, run
from mcp import Client

import product
from patience import PATIENCE_SECONDS

Tool = Callable[..., Any]


def speaking(client: Client, session_id: str) -> Tool:
    """What a model does with the session_id that its hook told it."""

    async def use(name: str, **arguments: Any) -> dict[str, Any]:
        called = await client.call_tool(name, {"session_id": session_id} | arguments)
        assert not called.is_error, called.content[0].text
        return json.loads(called.content[0].text)

    return use


@pytest.mark.parametrize("address", ["sqlite", "postgresql"], indirect=True)
async def test_two_agents_share_a_repository(address: Path | str, tmp_path: Path, shop: Path, home: Path):
    with product.running(*product.store_flags(address, tmp_path / "server")) as server:
        environ = {
            "COMMONPLACE_URL": server.url,
            "COMMONPLACE_HOME": str(home),
            "COMMONPLACE_HOOKS_SECONDS": str(PATIENCE_SECONDS),
            "COMMONPLACE_HOOKS_TRANSCRIPTS": "off",
        }
        alice = Agent("claude", shop, environ | {"COMMONPLACE_AGENT": "alice"})
        bob = Agent("codex", shop, environ | {"COMMONPLACE_AGENT": "bob"})
        async with asyncio.timeout(PATIENCE_SECONDS), Client(f"{server.url}/mcp") as client:
            await _story(alice, bob, client, shop)


async def _story(alice: Agent, bob: Agent, client: Client, shop: Path) -> None:
    assert (await run(product.command("guard", "install"), shop, alice.environ)).code == 0

    # Alice starts, learns and edits.
    as_alice = speaking(client, (await alice.start()).session_id)
    await as_alice("memory_record_learning", topic="Cart totals", content="Round once, at the end.")
    assert (await alice.edit("src/cart.py")).denial == ""
    (shop / "src/cart.py").write_text("rounded\n")
    await alice.edited("src/cart.py")

    # Bob starts, knows what she learnt, and collides.
    answer = await bob.start()
    as_bob = speaking(client, answer.session_id)
    assert "Cart totals" in answer.context
    assert "src/cart.py is leased by alice" in (await bob.edit("src/tax.py", "src/cart.py")).denial
    git(shop, "add", "--all")
    assert "left 1 line of alice in src/cart.py" in (await bob.commit()).stderr

    # He writes to her; her next hook tells her, and she hands the file over.
    await as_bob(
        "memory_send_message", to_instance="alice", message="May I have the cart?", priority="urgent"
    )
    assert "bob" in (await alice.edited("src/cart.py")).context
    mail = (await as_alice("memory_get_messages", include_delivered=True))["messages"]
    assert [(each["from"], each["message"]) for each in mail] == [("bob", "May I have the cart?")]
    assert (await alice.commit()).code == 0
    assert (await as_alice("memory_unlock_files"))["released"] == ["src/cart.py"]
    assert (await bob.edit("src/tax.py", "src/cart.py")).denial == ""

    # She ends; the next session under her name knows.
    await as_alice("memory_end_session", summary="Totals are rounded", handoff_notes="Tax is bob's.")
    assert (await alice.end()).stdout == ""
    tomorrow = Agent("claude", shop, alice.environ)
    boot_pack = json.loads((await tomorrow.start()).context.rpartition("\n")[2])
    assert "Tax is bob's." in boot_pack["handoff"]["notes"]
    assert [learning["title"] for learning in boot_pack["learnings"]] == ["Cart totals"]
    assert {lock["held_by"] for lock in boot_pack["relevant_locks"]} == {"bob"}
    assert "leased by bob" in (await tomorrow.edit("src/tax.py")).denial
