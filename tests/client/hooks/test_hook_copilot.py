"""Copilot CLI's own ways: no event name in its input, exit codes that deny, windows in `_meta`, compactions."""

import json
from dataclasses import replace

import pytest
from agent_samples import EVENT_WORD
from agent_samples.copilot import session_folder, subagent_fields
from hooked import Done, both_stores

from commonplace import access
from commonplace.client.agents import load_hooks
from commonplace.client.companion import program

COMPACTED = {
    "type": "session.compaction_complete",
    "data": {"success": True, "outcome": "applied", "messagesRemoved": 2, "trigger": "manual"},
    "id": "774983d9-8b8f-42a4-91d1-43afa72e5556",
}
CANCELLED = COMPACTED | {"data": {"success": False, "error": "Compaction Cancelled", "outcome": "cancelled"}}


@pytest.fixture
def copilot(near, home):
    return near("copilot", COPILOT_HOME=str(home / "copilot"))


@pytest.fixture
def transcript(copilot, home):
    path = session_folder(home / "copilot", copilot.session) / "events.jsonl"
    path.parent.mkdir(parents=True)
    path.touch()

    def write(*records):
        with path.open("a") as file:
            file.writelines(json.dumps(record, separators=(",", ":")) + "\n" for record in records)

    return write


def calls_tool(agent, tool="memory_heartbeat", server="commonplace", **arguments):
    sent = {"sessionId": agent.session, "timestamp": 1794848910313, "cwd": str(agent.cwd)}
    call = {"toolCallId": "call_0", "serverName": server, "toolName": tool, "arguments": arguments}
    return sent | call | {EVENT_WORD: "preMcpToolCall"}


async def test_copilot_that_nobody_answers_is_never_denied_a_tool(agent):
    alone = agent("copilot", COMMONPLACE_URL="http://127.0.0.1:9", COMMONPLACE_HOOKS_SECONDS="0.1")
    assert (await alone.edit("src/cart.py")).code == 0
    assert (await alone.edit("src/cart.py")) == Done(0, "", "")


async def test_copilot_whose_hook_fails_is_never_denied_a_tool(agent, home):
    home.write_text("not a folder")
    assert await agent("copilot").edit("src/cart.py") == Done(0, "", "")


async def test_edit_by_patch_is_denied(team, copilot):
    alice = await team.agent("alice", project="shop")
    await alice.lock_files(files=["src/cart.py"])
    patch = "*** Begin Patch\n*** Update File: src/cart.py\n@@\n-a\n+b\n*** End Patch\n"
    sent = copilot.sends("before_edit", "src/cart.py") | {"toolName": "apply_patch", "toolArgs": patch}
    assert "leased by alice" in (await copilot.hook(sent)).denial


async def test_call_of_our_tool_gets_the_window_of_the_conversation(copilot):
    answer = (await copilot.hook(calls_tool(copilot))).body
    assert answer["metaToUse"]["commonplace/window"] == [f"copilot:{copilot.session}"]
    assert answer["metaToUse"]["commonplace/seat"].startswith("copilot@")


async def test_call_of_another_server_is_left_alone(copilot):
    assert await copilot.hook(calls_tool(copilot, server="files")) == Done(0, "", "")


async def test_call_of_our_tool_gets_its_window_though_nobody_answers(near):
    alone = near("copilot", COMMONPLACE_URL="http://127.0.0.1:9", COMMONPLACE_HOOKS_SECONDS="0.1")
    answer = (await alone.hook(calls_tool(alone))).body
    assert answer["metaToUse"]["commonplace/window"] == [f"copilot:{alone.session}"]


@pytest.mark.usefixtures("transcript")
async def test_call_of_a_sub_agent_gets_its_window_before_that_of_the_conversation(copilot):
    sent = calls_tool(copilot) | subagent_fields("child", copilot.session)
    answer = (await copilot.hook(sent)).body
    assert answer["metaToUse"]["commonplace/window"] == [
        f"copilot:{copilot.session}/child",
        f"copilot:{copilot.session}",
    ]


async def test_sub_agent_of_a_sub_agent_belongs_to_the_conversation(copilot, transcript):
    transcript({"type": "subagent.started", "data": {"parentId": "child"}, "agentId": "grandchild"})
    sent = calls_tool(copilot) | subagent_fields("grandchild", "child")
    answer = (await copilot.hook(sent)).body
    assert answer["metaToUse"]["commonplace/window"][-1] == f"copilot:{copilot.session}"


@pytest.mark.usefixtures("transcript")
async def test_edit_of_a_sub_agent_is_made_under_the_lease_of_its_parent(team, copilot):
    await copilot.start()
    assert (await copilot.edit("src/cart.py")).stdout == ""
    sent = copilot.sends("before_edit", "src/cart.py") | subagent_fields("child", copilot.session)
    assert (await copilot.hook(sent)).stdout == ""
    reader = await team.agent("reader", project="shop")
    locks = (await reader.get_locks())["locks"]
    assert [(lock["file"], lock["held_by"]) for lock in locks] == [("src/cart.py", "copilot")]


async def model_calls(team, copilot, tool, subagent="", **arguments):
    """The hook runs first; its `_meta` goes with the call."""
    sent = calls_tool(copilot, tool)
    answer = await copilot.hook(sent | (subagent_fields(subagent, copilot.session) if subagent else {}))
    windows = tuple(answer.body["metaToUse"]["commonplace/window"])
    model = team.anyone(replace(access.LOCAL, windows=windows))
    return await getattr(model, tool.removeprefix("memory_"))(**arguments)


async def subagent_event(copilot, name, subagent, **more):
    sent = copilot.sends("prompt") | {"transcriptPath": "", "agentName": "task", "agentType": "task"}
    return await copilot.hook(
        sent | {"agentId": subagent, "parentAgentId": copilot.session, EVENT_WORD: name} | more
    )


@both_stores
async def test_hook_and_model_of_copilot_are_one_agent(team, copilot):
    started = await copilot.start()
    answer = await model_calls(
        team, copilot, "memory_start_session", project="shop", claude_instance="backend"
    )
    assert answer["agent"] == "backend"
    assert (await model_calls(team, copilot, "memory_heartbeat"))["agent"] == "backend"
    await model_calls(team, copilot, "memory_lock_files", files=["src/cart.py"])
    assert (await copilot.edit("src/cart.py")).stdout == ""
    assert started.session_id


@pytest.mark.usefixtures("transcript")
@both_stores
async def test_sub_agent_that_starts_is_an_agent_of_its_own_until_it_stops(team, copilot):
    await copilot.start()
    introduction = (await subagent_event(copilot, "subagentStart", "child")).context
    assert introduction.startswith("You are a sub-agent of the agent copilot in the project shop")
    assert (await model_calls(team, copilot, "memory_heartbeat", "child"))["agent"] == "copilot"
    await model_calls(
        team, copilot, "memory_start_session", "child", project="shop", claude_instance="tester"
    )
    await model_calls(team, copilot, "memory_lock_files", "child", files=["src/cart.py"])
    assert (await model_calls(team, copilot, "memory_heartbeat"))["agent"] == "copilot"
    own_edit = copilot.sends("before_edit", "src/cart.py") | subagent_fields("child", copilot.session)
    assert (await copilot.hook(own_edit)).stdout == ""
    assert "leased by tester" in (await copilot.edit("src/cart.py")).denial
    await subagent_event(copilot, "subagentStop", "child", stopReason="end_turn")
    assert (await copilot.edit("src/cart.py")).stdout == ""


async def test_prompt_that_a_model_wrote_for_its_sub_agent_gets_nothing(copilot, transcript):
    await copilot.start()
    transcript(COMPACTED)
    sent = copilot.sends("prompt") | subagent_fields("child", copilot.session)
    assert (await copilot.hook(sent)).stdout == ""
    assert "You are the agent copilot" in (await copilot.prompt("go on")).context


async def test_boot_pack_comes_again_after_a_compaction_and_only_once(copilot, transcript):
    assert "You are the agent copilot" in (await copilot.start()).context
    assert (await copilot.prompt("go on")).context == ""
    transcript(COMPACTED)
    again = (await copilot.prompt("go on")).context
    assert "You are the agent copilot" in again
    assert "Your session is already started" in again
    assert (await copilot.prompt("go on")).context == ""


async def test_compaction_that_was_cancelled_or_a_sub_agents_own_brings_nothing(copilot, transcript):
    await copilot.start()
    transcript(CANCELLED, COMPACTED | {"agentId": "child"})
    sent = copilot.sends("stop") | {"trigger": "auto", EVENT_WORD: "preCompact"}
    assert (await copilot.hook(sent)).stdout == ""
    assert (await copilot.prompt("go on")).context == ""


async def test_end_of_a_session_frees_its_leases(team, copilot):
    await copilot.start()
    await copilot.edit("src/cart.py")
    assert await copilot.end() == Done(0, "", "")
    reader = await team.agent("reader", project="shop")
    assert (await reader.get_locks())["locks"] == []


async def test_event_that_both_programs_run_hooks_for_is_answered_once(near, home):
    (home / "copilot" / "hooks").mkdir(parents=True)
    places = {"COPILOT_HOME": str(home / "copilot")}
    code = near("vscode", **places)
    assert "agent vscode" in (await code.start()).context
    through_copilot = near("vscode", COPILOT_CLI="1", **places)
    assert "agent vscode" in (await through_copilot.start()).context
    (home / "copilot" / "hooks" / "commonplace-copilot.json").write_text("{}")
    assert (await near("vscode", COPILOT_CLI="1", **places).start()).stdout == ""
    code_runs_copilots = near("copilot", **places)
    sent = code.sends("session_start") | {EVENT_WORD: "sessionStart", "session_id": "other"}
    assert "agent vscode" in (await code_runs_copilots.hook(sent)).context
    (home / "copilot" / "hooks" / "commonplace.json").write_text("{}")
    assert (await code_runs_copilots.hook(sent | {"session_id": "third"})).stdout == ""


def test_input_without_an_event_is_ignored(monkeypatch, tmp_path):
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path))
    assert program.run("copilot", b'{"sessionId": "s", "prompt": "add it"}') == ("", "", 0)
    assert load_hooks("copilot").parse_event({"sessionId": "s"}) is None
