"""Hook and model of one window are one agent, and the next window on the same place is the same agent."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hooked import Agent, both_stores, git, model_call

from commonplace import access
from commonplace.window import process_window
from team import Team

Arrive = Callable[..., Agent]


def model_of(team: Team, pid: int):
    """The model of the agent program with this process, over a stdio server."""
    return team.anyone(replace(access.LOCAL, windows=(process_window(pid),)))


@both_stores
async def test_model_that_starts_under_a_name_of_its_own_edits_the_file_that_it_locked(
    team: Team, agent: Arrive
):
    alice, bob = agent(CLAUDE_PID="4711"), agent("codex")
    await alice.start()
    model = model_of(team, 4711)
    started = await model.start_session(project="shop", claude_instance="backend")
    await model.lock_files(session_id=started["session_id"], files=["src/cart.py"], reason="rounding")
    assert (await alice.edit("src/cart.py")).denial == ""
    assert "src/cart.py is leased by backend" in (await bob.edit("src/cart.py")).denial


async def test_hook_joins_the_session_that_the_model_started_first(team: Team, near: Arrive):
    model = model_of(team, 4712)
    await model.start_session(project="shop", claude_instance="backend")
    await model.lock_files(files=["src/cart.py"])
    alice = near(CLAUDE_PID="4712")
    assert (await alice.edit("src/cart.py")).denial == ""
    assert alice.name == "backend"


async def test_hook_follows_a_name_that_the_model_chose(team: Team, near: Arrive):
    alice = near(CLAUDE_PID="4713")
    await alice.start()
    await model_of(team, 4713).start_session(project="shop", claude_instance="backend")
    other = await team.agent("claude")
    await other.lock_files(files=["src/cart.py"], reason="rounding")
    assert "leased by claude" in (await alice.edit("src/cart.py")).denial
    assert alice.name == "backend"


async def test_reminder_names_the_agent_as_the_model_did(team: Team, near: Arrive):
    alice = near(CLAUDE_PID="4714")
    await alice.start()
    await model_of(team, 4714).start_session(project="shop", claude_instance="backend")
    told = (await alice.start(source="compact")).context
    assert told.startswith("You are the agent backend in the project shop")
    assert '"agent":"backend"' in told


async def test_claudes_calls_over_http_are_those_of_its_window(team: Team, near: Arrive):
    alice = near()
    for number, tool in enumerate(["memory_start_session", "memory_lock_files"]):
        assert (await alice.hook(alice.calls(tool, f"toolu_{number}"))).denial == ""
    await model_call(team, "toolu_0").start_session(project="shop", claude_instance="backend")
    await model_call(team, "toolu_1").lock_files(files=["src/cart.py"])
    assert (await alice.edit("src/cart.py")).denial == ""
    assert "leased by backend" in (await near("codex").edit("src/cart.py")).denial


async def test_call_that_names_its_session_needs_no_hook(near: Arrive, home: Path):
    alice = near()
    await alice.hook(alice.calls("memory_heartbeat", "toolu_8", tool_input={"session_id": "x"}))
    assert not (home / "hooks").exists()


async def test_claudes_call_that_names_a_blackboard_is_bound(team: Team, near: Arrive):
    alice = near()
    await alice.start()
    await alice.hook(alice.calls("get_session", "toolu_9", tool_input={"session_id": "board"}))
    assert (await model_call(team, "toolu_9").heartbeat())["agent"] == "claude"


def gemini_calls(agent: Agent, tool: str, arguments: dict[str, object]) -> dict[str, object]:
    """Gemini is about to call one of our tools."""
    context = {"server_name": "commonplace", "tool_name": tool, "url": "http://127.0.0.1:1/mcp"}
    sent = {"tool_name": f"mcp_commonplace_{tool}", "tool_input": arguments, "mcp_context": context}
    return agent.sends("before_edit", "a.py") | sent


async def tied_arguments(agent: Agent, tool: str, arguments: dict[str, object]) -> dict[str, object]:
    body = (await agent.hook(gemini_calls(agent, tool, arguments))).body
    return body["hookSpecificOutput"]["tool_input"] if body else arguments


async def test_geminis_calls_over_http_are_those_of_its_window(team: Team, near: Arrive):
    alice = near("gemini")
    started = {"project": "shop", "claude_instance": "backend", "task_description": "rounding"}
    model = team.anyone(replace(access.LOCAL, windows=("mcp:1",)))
    await model.start_session(**await tied_arguments(alice, "memory_start_session", started))
    lock = {"files": ["src/cart.py"], "minutes": 10, "reason": ""}
    tied = await tied_arguments(alice, "memory_lock_files", lock)
    assert tied == lock | {"session_id": tied["session_id"]}
    await team.anyone().lock_files(**tied)
    assert (await alice.edit("src/cart.py")).denial == ""
    assert "leased by backend" in (await near("codex").edit("src/cart.py")).denial


async def test_geminis_call_of_another_contract_gets_agent_session(team: Team, near: Arrive):
    alice = near("gemini")
    value = {"key": "plan", "value": {"next": [1, None, "ü"]}}
    tied = await tied_arguments(alice, "set_memory", value)
    assert tied == value | {"agent_session": tied["agent_session"]}
    await team.anyone().call("set_memory", **tied)
    listed = await team.anyone().call("list_memory", agent_session=tied["agent_session"])
    assert [entry["key"] for entry in listed["entries"]] == ["plan"]
    board = await tied_arguments(alice, "get_session", {"session_id": "board"})
    assert board == {"session_id": "board", "agent_session": tied["agent_session"]}


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("memory_heartbeat", {"session_id": "mine"}),
        ("set_memory", {"key": "plan", "value": 1, "agent_session": "mine"}),
    ],
)
async def test_geminis_call_that_names_its_session_is_not_changed(
    near: Arrive, home: Path, tool: str, arguments: dict[str, object]
):
    assert (await near("gemini").hook(gemini_calls(near("gemini"), tool, arguments))).stdout == ""
    assert not (home / "hooks").exists()


async def test_geminis_call_of_another_server_is_not_changed(near: Arrive):
    alice = near("gemini")
    sent = gemini_calls(alice, "create_issue", {}) | {
        "tool_name": "mcp_commonplace_issues_create",
        "mcp_context": {"server_name": "commonplace_issues", "tool_name": "create"},
    }
    assert (await alice.hook(sent)).stdout == ""


async def test_gemini_that_starts_again_after_its_session_ended_is_tied_again(team: Team, near: Arrive):
    alice = near("gemini")
    first = (await tied_arguments(alice, "memory_heartbeat", {}))["session_id"]
    await team.anyone().end_session(session_id=first, summary="done")
    again = await tied_arguments(alice, "memory_start_session", {"project": "shop"})
    assert again["session_id"] != first
    assert (await team.anyone().start_session(**again))["already_started"]


async def test_next_window_is_the_same_agent_and_gets_the_whole_handoff(team: Team, near: Arrive):
    first = near()
    session_id = (await first.start()).session_id
    await team.anyone().end_session(session_id=session_id, summary="Half", handoff_notes="Tax is next.")
    await first.end()
    second = near()
    told = (await second.start()).context
    assert (second.name, "Tax is next." in told) == ("claude", True)


async def test_windows_at_the_same_time_have_names_of_their_own(near: Arrive):
    windows = [near(), near(), near("codex")]
    for window in windows:
        await window.start()
    assert [window.name for window in windows] == ["claude", "claude-2", "codex"]
    await windows[0].end()
    again = near()
    await again.start()
    assert again.name == "claude"


@pytest.mark.parametrize("name", ["", "ann"])
async def test_windows_of_opencode_opened_in_the_same_minute_are_kept_apart(near: Arrive, name: str):
    environ = {"COMMONPLACE_AGENT": name} if name else {}
    first, second = near("opencode", **environ), near("opencode", **environ)
    first.session, second.session = "ses_6f1c2ab3dffeAAAAAAAAAAAAAA", "ses_6f1c2ab3dffeBBBBBBBBBBBBBB"
    assert (await first.edit("src/cart.py")).denial == ""
    assert f"leased by {first.name}" in (await second.edit("src/cart.py")).denial


@pytest.mark.parametrize("branch", ["main", "größe/100%"])
async def test_branch_is_told_with_the_start(team: Team, near: Arrive, shop: Path, branch: str):
    git(shop, "switch", "-q", "-C", branch)
    alice = near()
    session_id = (await alice.start()).session_id
    assert session_id
    row = await team.database.read(lambda tx: tx.one("select branch from session where project = 'shop'"))
    assert row["branch"] == branch
