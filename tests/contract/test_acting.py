"""Who acts: the session named in a call, else the one of header or window, else the key's agent, else nobody."""

from dataclasses import replace

import pytest

from commonplace import access, errors
from commonplace.access import Caller
from team import Agent, Team

SHOP = frozenset({"shop"})
SHARED_KEY = Caller("agent", frozenset({"*"}), "key_team")


def in_window(*windows: str, caller: Caller = access.LOCAL) -> Caller:
    return replace(caller, windows=windows)


async def start(team: Team, caller: Caller, **arguments: object) -> dict:
    return await team.anyone(caller).start_session(**{"project": "shop"} | arguments)


async def value_of(agent: Agent, key: str = "plan") -> object:
    return (await agent.get_memory(key=key))["value"]


@pytest.mark.parametrize("caller", [access.LOCAL, SHARED_KEY], ids=["keys off", "one key"])
async def test_private_values_of_two_windows_stay_apart(team: Team, caller: Caller):
    alice, bob = (team.anyone(in_window(f"mcp:{name}", caller=caller)) for name in ("a", "b"))
    await alice.start_session(project="shop", claude_instance="alice")
    await bob.start_session(project="shop", claude_instance="bob")
    for agent, value in ((alice, "hers"), (bob, "his")):
        await agent.set_memory(key="plan", value=value)
    assert (await value_of(alice), await value_of(bob)) == ("hers", "his")


async def test_nobody_keeps_nothing_private_and_is_told_what_to_call(team: Team):
    board = await team.anyone().create_session(purpose="design")
    for operation, arguments in (
        ("set_memory", {"key": "plan", "value": 1}),
        ("get_memory", {"key": "plan"}),
        ("list_memory", {}),
        ("delete_memory", {"key": "plan"}),
        ("add_private_note", {"session_id": board["session_id"], "content": "mine"}),
        (
            "add_message",
            {"session_id": board["session_id"], "content": "mine", "visibility": "private"},
        ),
        ("get_context", {"session_id": board["session_id"], "include_private": True}),
    ):
        with pytest.raises(errors.Forbidden) as refused:
            await team.anyone().call(operation, **arguments)
        assert "memory_start_session" in (refused.value.hint or "")


async def test_session_id_may_be_left_out_in_a_window_that_has_a_session(team: Team):
    alice = team.anyone(in_window("claude:1", "pid:laptop:7"))
    await alice.start_session(project="shop", claude_instance="alice")
    locked = await alice.lock_files(files=["cart.py"])
    by_process = team.anyone(in_window("claude-call:x", "pid:laptop:7"))
    assert locked["success"] is True
    assert (await by_process.get_locks())["your_locks"][0]["file"] == "cart.py"


PUBLIC_READS = [
    ("query", {"query": "idle", "project": "shop"}),
    ("search_global", {"query": "idle"}),
    ("list_backlog", {"project": "shop"}),
    ("list_backlog", {"project": "*"}),
    ("get_agent_status", {"project": "shop"}),
    ("get_active_work", {"project": "shop"}),
]


@pytest.mark.parametrize("caller", [access.LOCAL, SHARED_KEY, Caller("readonly", SHOP, "key_r")])
@pytest.mark.parametrize(("operation", "arguments"), PUBLIC_READS)
async def test_nobody_reads_what_is_not_private_in_a_project_that_the_call_names(
    team: Team, caller: Caller, operation: str, arguments: dict
):
    await team.agent("alice")
    assert await team.anyone(caller).call(f"memory_{operation}", **arguments)


async def test_nobody_reads_nothing_where_no_project_is_named(team: Team):
    for operation, arguments in (("query", {"query": "x"}), ("get_by_id", {"doc_id": "doc_12345678"})):
        with pytest.raises(errors.SessionNotFound):
            await team.anyone().call(f"memory_{operation}", **arguments)
    with pytest.raises(errors.SessionNotFound):
        await team.anyone().get_locks()


async def test_nobody_reads_no_mail(team: Team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    sent = await alice.send_message(to_instance="bob", message="hello")
    reader = team.anyone(Caller("agent", SHOP, "key_r"))
    assert (await reader.get_by_id(doc_id=sent["message_id"], project="shop"))["found"] is False
    assert (await reader.query(query="hello", project="shop"))["results"] == []
    with pytest.raises(errors.SessionNotFound):
        await reader.get_messages()
    assert (await bob.get_messages())["count"] == 1


async def test_a_call_without_any_identity_names_the_tool_that_gives_one(team: Team):
    with pytest.raises(errors.SessionNotFound) as refused:
        await team.anyone().lock_files(files=["cart.py"])
    assert "memory_start_session" in (refused.value.hint or "")


async def test_most_specific_window_wins_and_a_named_session_wins_over_all(team: Team):
    parent = await start(team, in_window("codex:root", "mcp:1"), claude_instance="parent")
    child = await start(team, in_window("codex:child"), claude_instance="child")
    carol = await team.agent("carol")
    caller = in_window("codex:child", "codex:root", "mcp:1")
    assert await _acting_agent(team, caller) == child["agent"]
    assert await _acting_agent(team, in_window("codex:root")) == parent["agent"]
    assert await _acting_agent(team, replace(caller, session=carol.session_id)) == "carol"
    assert (
        await _acting_agent(team, replace(caller, session=carol.session_id), parent["session_id"]) == "parent"
    )


async def _acting_agent(team: Team, caller: Caller, session_id: str | None = None) -> str:
    """Whose work it is when this caller reports some."""
    team.clock.advance(seconds=1)
    given = {"session_id": session_id} if session_id else {}
    agent = team.anyone(caller)
    await agent.update_work(title="t", status="in_progress", **given)
    work = (await agent.get_active_work(**given))["recent_work_items"]
    return work[0]["agent"]


async def test_window_belongs_to_its_key(team: Team):
    keys = [Caller("agent", SHOP, name) for name in ("key_1", "key_2")]
    await start(team, in_window("mcp:1", caller=keys[0]), claude_instance="alice")
    with pytest.raises(errors.SessionNotFound):
        await team.anyone(in_window("mcp:1", caller=keys[1])).lock_files(files=["a"])


async def test_start_in_a_window_that_has_a_session_returns_that_session(team: Team):
    hook = await start(team, in_window("claude:1", "pid:laptop:7"), working_directory="/shop")
    model = await start(team, in_window("claude-call:x", "pid:laptop:7"), claude_instance="backend")
    other = await team.agent("other")
    await Agent(team.calls, model["session_id"]).lock_files(files=["cart.py"])
    mine = await Agent(team.calls, hook["session_id"]).lock_files(files=["cart.py"])
    theirs = await other.lock_files(files=["cart.py"])
    assert (hook["agent"], model["agent"]) == ("agent", "backend")
    assert mine["success"] is True
    assert [conflict["held_by"] for conflict in theirs["conflicts"]] == ["backend"]
    assert len((await other.get_agent_status())["agents"]) == 2


async def test_start_by_the_model_before_the_hook_is_one_session_too(team: Team):
    model = await start(team, in_window("pid:laptop:7"), claude_instance="backend")
    hook = await start(team, in_window("claude:1", "pid:laptop:7"))
    await Agent(team.calls, model["session_id"]).lock_files(files=["cart.py"])
    held = await Agent(team.calls, hook["session_id"]).get_locks()
    assert (hook["agent"], len(held["your_locks"])) == ("backend", 1)


async def test_another_conversation_on_the_same_connection_has_its_own_session(team: Team):
    first = await start(team, in_window("claude:1", "pid:laptop:7"))
    second = await start(team, in_window("claude:2", "pid:laptop:7"))
    await Agent(team.calls, first["session_id"]).lock_files(files=["cart.py"])
    assert (await Agent(team.calls, second["session_id"]).lock_files(files=["cart.py"]))["success"] is False


async def test_two_connections_of_one_process_are_two_agents(team: Team):
    first, second = (in_window("pid:laptop:7", f"stdio:{name}") for name in "ab")
    await start(team, first, claude_instance="alice")
    team.clock.advance(seconds=1)
    await start(team, second, claude_instance="bob")
    assert [await _acting_agent(team, caller) for caller in (first, second)] == ["alice", "bob"]


async def test_program_that_connects_again_continues_the_session_of_its_hook(team: Team):
    await start(team, in_window("claude:1", "pid:laptop:7"))
    await start(team, in_window("pid:laptop:7", "stdio:a"), claude_instance="backend")
    again = await start(team, in_window("pid:laptop:7", "stdio:b"))
    assert (again["agent"], again["already_started"]) == ("backend", True)


async def test_ended_session_leaves_its_window_free(team: Team):
    alice = team.anyone(in_window("mcp:1"))
    await alice.start_session(project="shop", claude_instance="alice")
    await alice.end_session(summary="done")
    with pytest.raises(errors.SessionNotFound):
        await alice.lock_files(files=["a"])


async def test_chosen_name_that_is_taken_by_a_live_agent_is_not_given(team: Team):
    await team.agent("backend")
    default = (await start(team, in_window("mcp:1")))["agent"]
    again = await start(team, in_window("mcp:1"), claude_instance="backend")
    assert again["agent"] == default
    assert "backend" in again["action_needed"]


async def test_leases_work_claims_and_mail_follow_a_new_name(team: Team):
    other = await team.agent("other")
    hook = Agent(team.calls, (await start(team, in_window("mcp:1")))["session_id"])
    item = await hook.add_backlog_item(title="Cart")
    await hook.update_backlog_item(item_id=item["id"], claim=True)
    await hook.update_work(title="totals", status="in_progress")
    await hook.lock_files(files=["cart.py"])
    await other.send_message(to_instance="agent", message="hello")
    await start(team, in_window("mcp:1"), claude_instance="backend")
    assert [
        message["message"] for message in (await hook.get_messages(include_delivered=True))["messages"]
    ] == ["hello"]
    assert (await other.list_backlog())["items"][0]["assigned_to"] == "backend"
    active = (await other.get_active_work())["currently_active"]
    assert "backend" in {entry["agent"] for entry in active} <= {"backend", "other"}
    assert (await other.get_locks())["locks"][0]["held_by"] == "backend"
    assert {agent["instance"] for agent in (await other.list_agents())["agents"]} == {"other", "backend"}


async def test_subagent_is_an_agent_of_its_own_with_a_parent(team: Team):
    parent = await start(team, in_window("codex:root", "mcp:1"), claude_instance="parent")
    child = await start(team, in_window("codex:child", "codex:root", "mcp:1"))
    assert child["worker"]["spawned_by"] == parent["agent"]
    assert await _acting_agent(team, in_window("mcp:1")) == "parent"
    assert await _acting_agent(team, in_window("codex:child", "codex:root", "mcp:1")) == child["agent"]


async def test_call_that_a_hook_announced_acts_as_the_session_that_it_names(team: Team):
    main = await start(team, in_window("claude:1", "pid:laptop:7"), claude_instance="main")
    helper = await start(team, in_window("claude:1/a7"), claude_instance="helper", spawned_by="main")
    hook = Agent(team.calls, helper["session_id"])
    await hook.bind_windows(windows=["claude-call:toolu_1"])
    assert await _acting_agent(team, in_window("claude-call:toolu_1", "pid:laptop:7")) == helper["agent"]
    assert await _acting_agent(team, in_window("claude-call:toolu_2", "pid:laptop:7")) == main["agent"]


async def test_session_id_given_as_a_name_is_that_session_and_never_a_name(team: Team):
    alice = await team.agent("alice")
    again = await start(team, access.LOCAL, claude_instance=alice.session_id)
    child = await start(team, access.LOCAL, spawned_by=alice.session_id)
    assert (again["agent"], again["already_started"]) == ("alice", True)
    assert child["worker"]["spawned_by"] == "alice"


async def test_memory_session_id_is_recognised_where_another_id_is_asked_for(team: Team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await team.anyone().call("set_memory", key="plan", value=1, session_id=alice.session_id)
    await team.anyone().call("set_memory", key="plan", value=2, agent_session=bob.session_id)
    found = [
        await team.anyone().call("get_memory", key="plan", agent_session=agent.session_id)
        for agent in (alice, bob)
    ]
    with pytest.raises(errors.NotFound) as refused:
        await team.anyone().call("add_message", session_id=alice.session_id, content="x")
    assert [(one["value"], one["scope"]) for one in found] == [(1, "agent"), (2, "agent")]
    assert "agent_session" in (refused.value.hint or "")


async def test_a_later_process_with_the_same_id_is_not_the_old_session(team: Team):
    first = await start(team, in_window("pid:laptop:7:100"), claude_instance="alice")
    second = await start(team, in_window("pid:laptop:7:200"), claude_instance="bob")
    assert (first["agent"], second["agent"]) == ("alice", "bob")
    assert await _acting_agent(team, in_window("pid:laptop:7:100")) == "alice"


async def test_two_windows_that_share_a_connection_and_name_no_conversation_are_one_session(team: Team):
    first = await start(team, in_window("pid:laptop:7", "mcp:a"))
    second = await start(team, in_window("pid:laptop:7", "mcp:a"))
    assert (second["agent"], second["already_started"]) == (first["agent"], True)
    other = await start(team, in_window("pid:laptop:7", "mcp:b"))
    assert other["agent"] != first["agent"]
