"""What ends when: sub-agents with their parent, abandoned windows with the next one, and what an idle session holds.

docs/guides/sessions.md has the table of these rules.
"""

from dataclasses import replace

import pytest

from commonplace import access, errors
from commonplace.access import Caller
from team import Agent, Team

KEY = Caller("agent", frozenset({"*"}), "key_team")


@pytest.fixture(params=["keys off", "one key"])
def caller(request: pytest.FixtureRequest) -> Caller:
    return access.LOCAL if request.param == "keys off" else KEY


async def spawn(team: Team, caller: Caller, parent: str) -> Agent:
    child = await team.agent("unknown", caller=caller, spawned_by=parent)
    assert child.started["agent"].startswith("worker_")
    return child


async def test_sub_agents_end_with_their_parent(team: Team, caller: Caller):
    parent = await team.agent("alice", caller=caller)
    child = await spawn(team, caller, parent.session_id)
    grandchild = await spawn(team, caller, child.started["agent"])
    other = await spawn(team, caller, (await team.agent("bob", caller=caller)).session_id)
    await child.lock_files(files=["cart.py"])
    item = await child.add_backlog_item(title="Tax")
    await child.update_backlog_item(item_id=item["id"], claim=True)
    team.clock.advance(minutes=6)
    ended = await parent.end_session(summary="done")
    assert ended["ended_subagents"] == [child.started["agent"], grandchild.started["agent"]]
    for gone in (child, grandchild):
        with pytest.raises(errors.SessionNotFound):
            await gone.heartbeat()
    assert (await other.get_locks())["locks"] == []
    (ready,) = (await other.list_backlog(ready=True))["items"]
    assert ready["was_claimed_by"] == child.started["agent"]


async def test_a_sub_agent_that_has_just_called_goes_on_after_its_parent(team: Team, caller: Caller):
    parent = await team.agent("alice", caller=caller)
    child = await spawn(team, caller, "alice")
    team.clock.advance(minutes=6)
    await child.lock_files(files=["cart.py"])
    assert "ended_subagents" not in await parent.end_session(summary="done")
    assert (await child.unlock_files())["released"] == ["cart.py"]


async def test_a_parent_of_the_same_name_in_another_window_keeps_its_sub_agents(team: Team, caller: Caller):
    first, second = [await team.agent("alice", caller=caller) for _ in range(2)]
    child = await spawn(team, caller, first.session_id)
    team.clock.advance(minutes=6)
    await second.end_session(summary="done")
    await child.heartbeat()


def at_seat(window: str, caller: Caller) -> Caller:
    return replace(caller, windows=(window,), seat="claude@laptop")


async def test_an_abandoned_window_ends_when_the_next_window_of_its_seat_takes_its_name(
    team: Team, caller: Caller
):
    left = team.anyone(at_seat("claude:1", caller))
    await left.start_session(project="shop", working_directory="/shop", task_description="totals")
    await left.lock_files(files=["cart.py"], minutes=240)
    item = await left.add_backlog_item(title="Tax")
    await left.update_backlog_item(item_id=item["id"], claim=True)
    await left.update_work(title="totals", status="in_progress", files_touched=["cart.py"])
    team.clock.advance(minutes=61)
    following = team.anyone(at_seat("claude:2", caller))
    started = await following.start_session(project="shop", working_directory="/shop")
    assert started["agent"] == "claude"
    assert (await following.lock_files(files=["cart.py"]))["success"]
    (ready,) = (await following.list_backlog(ready=True))["items"]
    assert ready["id"] == item["id"]
    again = await left.start_session(project="shop", working_directory="/shop")
    assert (again["agent"], again.get("already_started", False)) == ("claude-2", False)


async def test_a_window_that_is_idle_for_less_than_an_hour_keeps_its_name_and_locks(
    team: Team, caller: Caller
):
    quiet = team.anyone(at_seat("claude:1", caller))
    await quiet.start_session(project="shop", working_directory="/shop")
    await quiet.lock_files(files=["cart.py"], minutes=120)
    team.clock.advance(minutes=59)
    following = team.anyone(at_seat("claude:2", caller))
    assert (await following.start_session(project="shop", working_directory="/shop"))["agent"] == "claude-2"
    conflict = await following.lock_files(files=["cart.py"])
    assert [each["held_by"] for each in conflict["conflicts"]] == ["claude"]


async def test_an_idle_session_loses_its_lock_then_its_claim_and_comes_back_with_its_next_call(
    team: Team, caller: Caller
):
    alice, bob = await team.agent("alice", caller=caller), await team.agent("bob", caller=caller)
    item = await alice.add_backlog_item(title="Tax")
    await alice.update_backlog_item(item_id=item["id"], claim=True)
    await alice.lock_files(files=["cart.py"])
    team.clock.advance(minutes=31)
    assert (await bob.lock_files(files=["cart.py"]))["success"]
    with pytest.raises(errors.Conflict):
        await bob.update_backlog_item(item_id=item["id"], claim=True)
    team.clock.advance(minutes=240)
    await bob.update_backlog_item(item_id=item["id"], claim=True)
    notices = " ".join((await alice.heartbeat())["_notice"])
    assert "cart.py" in notices
    assert item["id"] in notices
    status = {agent["instance"]: agent for agent in (await bob.get_agent_status())["agents"]}
    assert (status["alice"]["stale"], status["alice"]["sessions"]) == (False, 1)


async def test_a_status_that_was_reported_ends_with_the_last_live_session(team: Team, caller: Caller):
    alice, bob = await team.agent("alice", caller=caller), await team.agent("bob", caller=caller)
    await alice.heartbeat(status="busy", current_task="tax")
    await alice.heartbeat()
    team.clock.advance(minutes=6)
    await bob.heartbeat()
    status = {agent["instance"]: agent for agent in (await bob.get_agent_status())["agents"]}
    assert (status["alice"]["status"], status["alice"]["stale"]) == ("busy", True)
    team.clock.advance(days=1)
    await bob.heartbeat()
    status = {agent["instance"]: agent for agent in (await bob.get_agent_status())["agents"]}
    assert (status["alice"]["status"], status["alice"]["sessions"]) == ("offline", 0)


async def test_who_is_assigned_or_unblocked_is_told_once(team: Team, caller: Caller):
    alice, bob = await team.agent("alice", caller=caller), await team.agent("bob", caller=caller)
    first = await alice.add_backlog_item(title="Schema")
    second = await alice.add_backlog_item(title="Tax", assigned_to="bob", depends_on=[first["id"]])
    assert second["id"] in " ".join((await bob.list_specs())["_notice"])
    await alice.complete_backlog_item(item_id=first["id"])
    assert second["id"] in " ".join((await bob.list_specs())["_notice"])
    assert "_notice" not in await bob.list_specs()


async def test_the_end_counts_the_mail_that_was_not_read(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await bob.send_message(to_instance="alice", message="one")
    assert (await alice.end_session(summary="home"))["unread"] == 1
    assert "unread" not in await bob.end_session(summary="home")


@pytest.mark.parametrize("tool", ["memory_get_messages", "memory_query"])
async def test_a_call_after_the_end_is_told_when_the_session_ended(team: Team, caller: Caller, tool: str):
    seat = replace(caller, windows=("conn:1",))
    window = team.anyone(seat)
    await window.start_session(project="shop", claude_instance="alice")
    await window.end_session(summary="done")
    with pytest.raises(errors.SessionNotFound, match="ended at"):
        await window.call(tool, **({"query": "tax"} if tool == "memory_query" else {}))
