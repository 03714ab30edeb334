"""The boot pack stays within its token budget, in one order, most valuable parts first."""

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from commonplace.quoting.marks import mark_value
from commonplace.rooms.sessions.boot_pack import BYTES_PER_TOKEN, PackPart, fit_boot_pack
from commonplace.rooms.sessions.model import QUOTED_TEXTS, BootPack
from team import Team

_REQUIRED_FIELDS = {"project", "agent", "session_id"}
_TEXT = st.text(max_size=300)
_ITEM = st.dictionaries(st.sampled_from(["id", "title", "snippet"]), _TEXT, max_size=3)
_LISTS = st.lists(_ITEM, max_size=30)
_PART_VALUES = {
    "guidelines": _LISTS,
    "role": st.text(max_size=3000),
    "handoff": st.fixed_dictionaries(
        {"id": _TEXT, "content": st.text(max_size=9000), "files": st.lists(_TEXT, max_size=20)}
    ),
    "messages": st.fixed_dictionaries({"unread": st.integers(0, 999), "top": _LISTS}),
    "backlog": _LISTS,
    "learnings": _LISTS,
    "patterns": _LISTS,
    "state_spec": _ITEM,
    "active_agents": _LISTS,
    "relevant_locks": _LISTS,
    "specs": _LISTS,
    "signals": _LISTS,
    "blocking_others": _LISTS,
    "interface_updates": _LISTS,
    "identity_suggestion": _ITEM,
    "registry_warning": _TEXT,
    "worker": _ITEM,
    "action_needed": _TEXT,
    "checklists": _LISTS,
}


@st.composite
def _draw_parts(draw: st.DrawFn) -> list[PackPart]:
    ranks = draw(st.permutations(range(len(_PART_VALUES))))
    return [
        PackPart(name, rank, draw(value), draw(st.integers(0, 99)) if value is _LISTS else 0)
        for (name, value), rank in zip(_PART_VALUES.items(), ranks, strict=True)
    ]


def _widest_pack() -> BootPack:
    """The longest names that are allowed."""
    project, agent = "p" * 64, "\U00010400" * 64
    return BootPack(project=project, agent=agent, session_id=f"{project}_{agent}_{'0' * 34}")


@given(parts=_draw_parts(), token_budget=st.integers(300, 20_000))
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@pytest.mark.slow
def test_pack_is_within_any_budget_and_in_field_order(parts: list[PackPart], token_budget: int):
    text = msgspec.json.encode(fit_boot_pack(_widest_pack(), parts, token_budget))
    pack = msgspec.json.decode(text)
    assert len(text) <= token_budget * BYTES_PER_TOKEN
    assert list(pack) == [name for name in BootPack.__struct_fields__ if name in pack]
    assert pack.keys() >= _REQUIRED_FIELDS


@given(parts=_draw_parts(), token_budget=st.integers(300, 20_000))
@settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@pytest.mark.slow
def test_pack_counts_every_omitted_item(parts: list[PackPart], token_budget: int):
    pack = msgspec.to_builtins(fit_boot_pack(_widest_pack(), parts, token_budget))
    for part in parts:
        if isinstance(part.value, list):
            items = pack.get(part.name, [])
            assert items == mark_value(part.value)[: len(items)]
            left_out = len(part.value) - len(items) + part.omitted_items
            assert pack.get("omitted", {}).get(part.name, 0) == left_out
        elif part.value and part.name not in pack:
            assert pack["omitted"][part.name] >= 1


def test_pack_within_the_budget_omits_nothing():
    parts = [
        PackPart("signals", 2, [{"name": "ready"}]),
        PackPart("role", 1, "tester"),
        PackPart("backlog", 3, []),
    ]
    empty = BootPack(project="shop", agent="alice", session_id="shop_alice_0")
    assert msgspec.to_builtins(fit_boot_pack(empty, parts, 300)) == {
        "project": "shop",
        "agent": "alice",
        "session_id": "shop_alice_0",
        "quoted": QUOTED_TEXTS,
        "role": "tester",
        "signals": [{"name": "ready"}],
    }


def test_pack_fills_low_ranks_first():
    wide = [{"text": "x" * 400}] * 4
    empty = BootPack(project="shop", agent="alice", session_id="shop_alice_0")
    pack = fit_boot_pack(empty, [PackPart("signals", 2, wide), PackPart("patterns", 1, wide)], 300)
    assert (len(pack.patterns), len(pack.signals), pack.omitted) == (2, 0, {"patterns": 2, "signals": 4})


def test_pack_truncates_the_text_of_a_handoff_and_keeps_its_id():
    pack = fit_boot_pack(
        BootPack(project="shop", agent="alice", session_id="shop_alice_0"),
        [PackPart("handoff", 1, {"id": "doc_0", "content": "x" * 9000, "files": ["a.py"] * 9})],
        300,
    )
    assert pack.handoff["id"] == "doc_0"
    assert pack.handoff["truncated"]
    assert pack.handoff["content"].endswith("…")
    assert "files" not in pack.handoff
    assert (pack.omitted, pack.see_omitted) == ({}, "memory_get_by_id('doc_0')")


def test_pack_counts_entries_and_names_the_calls_that_show_them():
    others = [{"id": f"doc_{n}", "title": "x" * 100} for n in range(9)]
    handoff = {"id": "doc_0", "notes": "y" * 300, "files": ["a.py"] * 9, "others": others}
    locks = PackPart("relevant_locks", 2, [{"files": ["src/cart.py"]}], 4)
    empty = BootPack(project="shop", agent="alice", session_id="shop_alice_0")
    pack = fit_boot_pack(empty, [PackPart("handoff", 1, handoff), locks], 300)
    assert pack.omitted["handoff"] == 9 - len(pack.handoff.get("others", []))
    assert pack.omitted["relevant_locks"] in (4, 5)
    assert pack.see_omitted == "memory_get_by_id('doc_0'); memory_get_locks; a larger token_budget"
    assert len(msgspec.json.encode(pack)) <= 300 * BYTES_PER_TOKEN


def test_pack_names_the_call_for_what_a_section_left_out_itself():
    empty = BootPack(project="shop", agent="alice", session_id="shop_alice_0")
    pack = fit_boot_pack(empty, [PackPart("relevant_locks", 1, [], 4)], 2000)
    assert (pack.omitted, pack.see_omitted) == ({"relevant_locks": 4}, "memory_get_locks")


@given(token_budget=st.integers(300, 20_000))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.slow
async def test_start_session_is_within_any_budget(team: Team, token_budget: int):
    for name in ("alice", "bob"):
        agent = await team.agent(name, task_description="cart " * 100)
        await agent.end_session(
            summary=f"{name}: " + "all is well. " * 300, handoff_notes="next: " + "tax " * 300
        )
        await team.agent(name, task_description=f"{name} goes on " * 9)
    answer = await team.calls.run(
        "memory_start_session",
        {"project": "shop", "claude_instance": "alice", "token_budget": token_budget},
        team.anyone().caller,
    )
    assert len(answer.to_text()) <= token_budget * BYTES_PER_TOKEN
    pack = msgspec.json.decode(answer.to_text())
    assert list(pack) == [name for name in BootPack.__struct_fields__ if name in pack]


async def fill_project(team: Team) -> None:
    """Every section has more than a small budget holds."""
    bob = await team.agent("bob", task_description="Totals of the cart in src/cart.py")
    alice = await team.agent("alice")
    for n in range(8):
        words = f"The cart {n} rounds its totals at the end and never per line. " * 6
        await bob.record_learning(topic=f"Cart totals {n}", content=words)
        await bob.store(title=f"Cart decision {n}", content=words, memory_type="adr")
        await bob.add_backlog_item(title=f"Cart task {n} " + "x" * 80, assigned_to="alice")
        await bob.lock_files(files=[f"src/cart_{n}.py"], reason="cart totals")
        await bob.send_message(to_instance="alice", message=words)
        await bob.define_spec(name=f"cart-api-{n}", content=words)
    await bob.guidelines(action="set", name="cart", rule="Money is integer cents.", scope="shop")
    await alice.end_session(
        summary="Totals", handoff_notes="Next: the cart. " * 60, files_modified=["a.py"] * 30
    )
    for n in range(5):
        await (await team.agent(f"agent{n}")).end_session(summary=f"Cart {n}", handoff_notes="Next: tax")


async def test_start_session_keeps_each_budget_in_a_full_project(team: Team):
    await fill_project(team)
    sizes, packs = [], []
    for token_budget in (300, 600, 2000):
        arguments = {"project": "shop", "claude_instance": "alice", "task_description": "cart totals"}
        answer = await team.calls.run(
            "memory_start_session", arguments | {"token_budget": token_budget}, team.anyone().caller
        )
        sizes.append(len(answer.to_text()) / BYTES_PER_TOKEN)
        packs.append(msgspec.json.decode(answer.to_text()))
    assert sizes[0] <= 300 < sizes[1] <= 600 < sizes[2] <= 2000
    assert packs[0]["handoff"]["truncated"]
    assert all(pack["see_omitted"] for pack in packs)
    assert all(0 < count <= 100 for pack in packs for count in pack["omitted"].values())
