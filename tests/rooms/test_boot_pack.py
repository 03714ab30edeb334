"""What a starting session is told stays within its budget, in one order, most valuable first."""

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from commonplace.rooms.sessions.boot_pack import BYTES_PER_TOKEN, PackPart, fit_boot_pack
from commonplace.rooms.sessions.model import BootPack
from team import Team

_KEPT = {"project", "agent", "session_id", "omitted"}
_TEXT = st.text(max_size=300)
_ITEM = st.dictionaries(st.sampled_from(["id", "title", "snippet"]), _TEXT, max_size=3)
_LISTS = st.lists(_ITEM, max_size=30)
_VALUE = {
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
    "recent_modifications": _LISTS,
    "signals": _LISTS,
    "blocking_others": _LISTS,
    "interface_updates": _LISTS,
    "identity_suggestion": _ITEM,
    "registry_warning": _TEXT,
    "worker": _ITEM,
    "action_needed": _TEXT,
    "notable_tools": st.lists(_TEXT, max_size=12),
}


@st.composite
def _parts(draw: st.DrawFn) -> list[PackPart]:
    ranks = draw(st.permutations(range(len(_VALUE))))
    return [
        PackPart(name, rank, draw(value)) for (name, value), rank in zip(_VALUE.items(), ranks, strict=True)
    ]


def _widest() -> BootPack:
    """Names as long and wide as they may be."""
    project, agent = "p" * 64, "\U00010400" * 64
    return BootPack(project=project, agent=agent, session_id=f"{project}_{agent}_{'0' * 34}")


@given(parts=_parts(), token_budget=st.integers(300, 20_000))
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
def test_pack_is_within_any_budget_and_in_one_order(parts: list[PackPart], token_budget: int):
    text = msgspec.json.encode(fit_boot_pack(_widest(), parts, token_budget))
    told = msgspec.json.decode(text)
    assert len(text) <= token_budget * BYTES_PER_TOKEN
    assert list(told) == [name for name in BootPack.__struct_fields__ if name in told]
    assert _KEPT - {"omitted"} <= told.keys()


@given(parts=_parts(), token_budget=st.integers(300, 20_000))
@settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
def test_pack_counts_every_item_that_it_leaves_out(parts: list[PackPart], token_budget: int):
    told = msgspec.to_builtins(fit_boot_pack(_widest(), parts, token_budget))
    for part in parts:
        if isinstance(part.value, list):
            shown = told.get(part.name, [])
            assert shown == part.value[: len(shown)]
            assert told.get("omitted", {}).get(part.name, 0) == len(part.value) - len(shown)
        elif part.value and part.name not in told:
            assert told["omitted"][part.name] >= 1


def test_pack_with_room_enough_leaves_nothing_out():
    parts = [
        PackPart("signals", 2, [{"name": "ready"}]),
        PackPart("role", 1, "tester"),
        PackPart("backlog", 3, []),
    ]
    known = BootPack(project="shop", agent="alice", session_id="shop_alice_0")
    assert msgspec.to_builtins(fit_boot_pack(known, parts, 300)) == {
        "project": "shop",
        "agent": "alice",
        "session_id": "shop_alice_0",
        "role": "tester",
        "signals": [{"name": "ready"}],
    }


def test_pack_fills_low_ranks_first():
    wide = [{"text": "x" * 400}] * 4
    known = BootPack(project="shop", agent="alice", session_id="shop_alice_0")
    told = fit_boot_pack(known, [PackPart("signals", 2, wide), PackPart("patterns", 1, wide)], 300)
    assert (len(told.patterns), len(told.signals), told.omitted) == (2, 0, {"patterns": 2, "signals": 4})


def test_pack_cuts_the_text_of_a_handoff_and_keeps_its_id():
    told = fit_boot_pack(
        BootPack(project="shop", agent="alice", session_id="shop_alice_0"),
        [PackPart("handoff", 1, {"id": "doc_0", "content": "x" * 9000, "files": ["a.py"] * 9})],
        300,
    )
    assert told.handoff["id"] == "doc_0"
    assert told.handoff["truncated"]
    assert told.handoff["content"].endswith("…")
    assert told.omitted == {"handoff": 10}


@given(token_budget=st.integers(300, 20_000))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
    assert len(answer.text()) <= token_budget * BYTES_PER_TOKEN
    told = msgspec.json.decode(answer.text())
    assert list(told) == [name for name in BootPack.__struct_fields__ if name in told]
