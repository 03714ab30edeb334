"""Coming merge conflicts between working trees: both sides are told once, and nothing is touched."""

import asyncio
import os
from pathlib import Path
from unittest import mock

import pytest
from hooked import Agent, git, replace_text

import product
from commonplace.client.checkout import radar

LINES = [f"line {number}\n" for number in range(1, 41)]


@pytest.fixture
def linked(shop: Path, tmp_path: Path) -> Path:
    (shop / "src/cart.py").write_text("".join(LINES))
    git(shop, "commit", "-qam", "lines")
    git(shop, "worktree", "add", "-q", "-b", "tax", str(tmp_path / "shop-tax"))
    return tmp_path / "shop-tax"


def changed(line: int, text: str) -> str:
    return "".join([*LINES[: line - 1], f"{text}\n", *LINES[line:]])


async def look(agent: Agent) -> None:
    def run_here() -> None:
        with mock.patch.dict(os.environ, product.environment(**agent.environ), clear=True):
            assert radar.main(["hook", "radar", agent.tool, agent.session, str(agent.cwd)]) == 0

    await asyncio.to_thread(run_here)


async def test_a_coming_conflict_is_told_once_to_both_and_ends_by_itself(near, shop, linked):
    off = {"COMMONPLACE_HOOKS_RADAR": "off"}
    ann, ben = near("claude", **off), near("codex", cwd=linked, **off)
    await ann.start()
    await ben.start()
    (shop / "src/cart.py").write_text(changed(10, "anns"))
    (linked / "src/cart.py").write_text(changed(10, "bens"))
    before = git(shop, "status", "--porcelain"), git(shop, "diff")
    await look(ann)
    await look(ben)
    assert (git(shop, "status", "--porcelain"), git(shop, "diff")) == before
    told = "A merge conflict is coming between claude (main) and codex (tax) in src/cart.py:10."
    for each in (ann, ben):
        assert told in (await each.edited(each.cwd / "src/tax.py")).context
        assert "conflict" not in (await each.edited(each.cwd / "src/tax.py")).context
    (linked / "src/cart.py").write_text(changed(30, "bens"))
    await look(ann)
    (linked / "src/cart.py").write_text(changed(10, "bens again"))
    await look(ann)
    assert told in (await ann.edited(shop / "src/tax.py")).context


async def test_a_coming_conflict_names_each_place_and_who_holds_what(near, shop, linked):
    off = {"COMMONPLACE_HOOKS_RADAR": "off", "COMMONPLACE_HOOKS_LOCK": "check"}
    ann, ben = (
        near("claude", **off),
        near("codex", cwd=linked, **(off | {"COMMONPLACE_HOOKS_LOCK": "acquire"})),
    )
    await ann.start()
    await replace_text(ben, linked / "src/cart.py", "line 10\n", "bens\n")
    await replace_text(ben, linked / "src/cart.py", "line 30\n", "bens too\n")
    (shop / "src/cart.py").write_text("new\n" + changed(10, "anns").replace("line 30", "anns too"))
    await look(ann)
    told = (await ann.edited(shop / "src/tax.py")).context
    assert "in src/cart.py:11,31." in told
    assert "codex holds src/cart.py:10,30" in told


@pytest.mark.parametrize("is_told", [True, False], ids=["by its hook", "at the server alone"])
async def test_a_radar_that_starts_late_does_not_bring_an_ended_session_back(team, near, linked, is_told):
    off = {"COMMONPLACE_HOOKS_RADAR": "off"}
    ann, ben = near("claude", **off), near("codex", cwd=linked, **off)
    await ann.start()
    started = await ben.start()
    if is_told:
        await ben.end()
    else:
        await team.anyone().call("memory_end_session", session_id=started.session_id, summary="")
    await look(ben)
    assert (await ann.run_shell(f"git worktree remove --force {linked}")).code == 0
    assert not linked.exists()


async def test_changes_that_merge_are_not_told(team, near, shop, linked):
    off = {"COMMONPLACE_HOOKS_RADAR": "off"}
    ann, ben = near("claude", **off), near("codex", cwd=linked, **off)
    await ann.start()
    await ben.start()
    (shop / "src/cart.py").write_text(changed(5, "anns"))
    (linked / "src/cart.py").write_text(changed(30, "bens"))
    await look(ann)

    async def count(tx):
        return await tx.one("select count(*) as n from event where kind = 'ConflictPredicted'")

    assert (await team.database.read(count))["n"] == 0


CART = "class Cart:\n    def total(self):\n        return 1\n"
CALLER = "from cart import Cart\n\n\ndef pay(cart):\n    return Cart.total(cart)\n"


@pytest.fixture
def shop_with_caller(shop: Path) -> Path:
    (shop / "src/cart.py").write_text(CART)
    (shop / "src/pay.py").write_text("")
    git(shop, "add", "src")
    git(shop, "commit", "-qm", "a caller")
    return shop


TOLD = (
    "claude changed Cart.total (src/cart.py) from `def total(self)` to `def total(self, rate)`, which codex calls in"
    " src/pay.py:5."
)


async def test_a_changed_signature_is_told_to_who_calls_it_in_the_same_checkout(near, shop_with_caller):
    shop = shop_with_caller
    off = {"COMMONPLACE_HOOKS_RADAR": "off"}
    ann, ben = near("claude", **off), near("codex", **off)
    await ann.start()
    await ben.start()
    (shop / "src/cart.py").write_text(CART.replace("self)", "self, rate)"))
    await ann.edited(shop / "src/cart.py")
    (shop / "src/pay.py").write_text(CALLER)
    await ben.edited(shop / "src/pay.py")
    await look(ben)
    for each in (ann, ben):
        assert TOLD in (await each.edited(shop / "src/other.py")).context
    await look(ann)
    assert "changed Cart.total" not in (await ann.edited(shop / "src/other.py")).context


async def test_a_changed_signature_is_told_between_linked_working_trees(near, shop_with_caller, tmp_path):
    shop, linked = shop_with_caller, tmp_path / "shop-tax"
    git(shop, "worktree", "add", "-q", "-b", "tax", str(linked))
    off = {"COMMONPLACE_HOOKS_RADAR": "off"}
    ann, ben = near("claude", **off), near("codex", cwd=linked, **off)
    await ann.start()
    await ben.start()
    (shop / "src/cart.py").write_text(CART.replace("self)", "self, rate)"))
    git(shop, "commit", "-qam", "rate")
    (linked / "src/pay.py").write_text(CALLER)
    await look(ben)
    for each in (ann, ben):
        assert TOLD in (await each.edited(each.cwd / "src/other.py")).context


async def test_a_signature_that_is_changed_back_or_never_called_is_not_told(near, shop_with_caller):
    shop = shop_with_caller
    off = {"COMMONPLACE_HOOKS_RADAR": "off"}
    ann, ben = near("claude", **off), near("codex", **off)
    await ann.start()
    await ben.start()
    (shop / "src/cart.py").write_text(CART.replace("return 1", "return 2"))
    await ann.edited(shop / "src/cart.py")
    (shop / "src/pay.py").write_text(CALLER)
    await ben.edited(shop / "src/pay.py")
    await look(ben)
    assert "changed" not in (await ben.edited(shop / "src/other.py")).context
