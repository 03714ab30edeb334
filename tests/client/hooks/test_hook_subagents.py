"""A sub-agent acts for its parent until it starts a session; then it is an agent of its own, until it stops."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hooked import Agent, Done, both_stores, model_call

from commonplace import access
from commonplace.access import Caller
from team import Team

Arrive = Callable[..., Agent]


@dataclass
class Subagent:
    """A sub-agent of Claude Code: hooks with the parent's session and its own agent_id."""

    parent: Agent
    agent_id: str
    team: Team
    calls_made: int = 0

    @property
    def mark(self) -> dict[str, str]:
        return {"agent_id": self.agent_id, "agent_type": "general-purpose"}

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The hook runs first, then the call arrives at the server."""
        self.calls_made += 1
        call_id = f"toolu_{self.agent_id}_{self.calls_made}"
        await self.parent.hook(self.parent.calls(tool, call_id, **self.mark))
        return await getattr(model_call(self.team, call_id), tool.removeprefix("memory_"))(**arguments)

    async def edit(self, file: str) -> Done:
        return await self.parent.hook(self.parent.sends("before_edit", file) | self.mark)

    async def start(self) -> Done:
        return await self._hook("SubagentStart")

    async def stop(self, **more: str) -> Done:
        return await self._hook("SubagentStop", **more)

    async def _hook(self, name: str, **more: str) -> Done:
        return await self.parent.hook(
            self.parent.known | {"hook_event_name": name, "permission_mode": "default"} | self.mark | more
        )


@pytest.fixture
def subagent(team: Team) -> Callable[..., Subagent]:
    return lambda parent, agent_id: Subagent(parent, agent_id, team)


Spawn = Callable[..., Subagent]


async def held_files(team: Team) -> dict[str, str]:
    other = await team.agent("observer", project="shop")
    return {lock["file"]: lock["held_by"] for lock in (await other.get_locks())["locks"]}


async def spawners(team: Team) -> dict[str, str]:
    rows = await team.database.read(lambda tx: tx.all("select agent, spawned_by from session"))
    return {row["agent"]: row["spawned_by"] for row in rows}


@both_stores
async def test_subagent_that_starts_edits_the_file_that_it_locked_and_its_parent_does_not(
    team: Team, near: Arrive, subagent: Spawn
):
    alice = near()
    await alice.start()
    tester, other = subagent(alice, "a1"), subagent(alice, "a2")
    await tester.call("memory_start_session", project="shop", claude_instance="tester")
    await tester.call("memory_lock_files", files=["src/cart.py"], reason="rounding")
    await other.call("memory_start_session", project="shop", claude_instance="other")
    assert (await tester.edit("src/cart.py")).denial == ""
    assert "leased by tester" in (await alice.edit("src/cart.py")).denial
    assert "leased by tester" in (await other.edit("src/cart.py")).denial
    assert (await alice.edit("src/tax.py")).denial == ""
    assert "leased by claude" in (await tester.edit("src/tax.py")).denial
    assert await spawners(team) == {"claude": "", "tester": "claude", "other": "claude"}


async def test_subagents_of_an_agent_whose_key_gives_the_name_are_kept_apart_too(team: Team, near: Arrive):
    made = await team.anyone(access.OPERATOR).admin(
        action="create_key", name="dora", projects=["shop"], agent="dora"
    )
    key = Caller("agent", frozenset({"shop"}), made["id"], agent="dora")
    dora = near(COMMONPLACE_KEY=made["key"])
    await dora.start()
    mark = {"agent_id": "a1", "agent_type": "general-purpose"}
    for call_id, tool in (("toolu_1", "memory_start_session"), ("toolu_2", "memory_lock_files")):
        await dora.hook(dora.calls(tool, call_id, **mark))
    model = team.anyone(replace(key, windows=("claude-call:toolu_2", "mcp:1")))
    await model.lock_files(files=["src/cart.py"], reason="rounding")
    assert (await dora.hook(dora.sends("before_edit", "src/cart.py") | mark)).denial == ""
    assert "leased by dora" in (await dora.edit("src/cart.py")).denial


async def test_calls_of_a_subagent_are_its_own_and_those_of_its_parent_the_parents(
    near: Arrive, subagent: Spawn, team: Team
):
    alice = near()
    await alice.start()
    tester = subagent(alice, "a1")
    child = await tester.call("memory_start_session", project="shop", claude_instance="tester")
    await alice.hook(alice.calls("memory_heartbeat", "toolu_7"))
    names = [(await tester.call("memory_heartbeat"))["agent"]]
    names.append((await model_call(team, "toolu_7").heartbeat())["agent"])
    assert (child["agent"], names) == ("tester", ["tester", "claude"])


async def test_subagent_without_a_session_acts_for_its_parent(team: Team, near: Arrive, subagent: Spawn):
    alice = near()
    await alice.start()
    helper = subagent(alice, "a1")
    assert (await helper.edit("src/cart.py")).denial == ""
    assert (await helper.call("memory_heartbeat"))["agent"] == "claude"
    assert (await alice.edit("src/cart.py")).denial == ""
    assert await held_files(team) == {"src/cart.py": "claude"}


async def test_subagent_is_told_for_whom_it_acts(team: Team, near: Arrive, subagent: Spawn):
    alice = near()
    await alice.start()
    await team.anyone(replace(access.LOCAL, windows=(f"claude:{alice.session}",))).start_session(
        project="shop", claude_instance="backend"
    )
    told = (await subagent(alice, "a1").start()).context
    assert told.startswith("You are a sub-agent of the agent backend in the project shop")
    assert 'memory_start_session(project="shop")' in told
    assert len(told) < 600


async def test_notices_for_the_parent_wait_for_the_parent(team: Team, near: Arrive, subagent: Spawn):
    alice = near()
    await alice.start()
    bob = await team.agent("bob", project="shop")
    await bob.send_message(to_instance="claude", message="Stop, please", priority="urgent")
    helper = subagent(alice, "a1")
    assert "bob" not in (await helper.start()).context
    assert "bob" not in (await helper.edit("src/cart.py")).stdout
    assert "bob" in (await alice.edited("src/tax.py")).context


async def test_subagent_that_stops_releases_its_leases(team: Team, near: Arrive, subagent: Spawn):
    alice = near()
    await alice.start()
    tester = subagent(alice, "a1")
    await tester.call("memory_start_session", project="shop", claude_instance="tester")
    await tester.edit("src/cart.py")
    await tester.stop(agent_type="")
    assert await held_files(team) == {"src/cart.py": "tester"}
    await tester.stop()
    assert await held_files(team) == {}
    assert (await alice.edit("src/cart.py")).denial == ""


async def test_end_of_a_subagent_without_a_session_does_not_end_its_parent(
    team: Team, near: Arrive, subagent: Spawn
):
    alice = near()
    await alice.start()
    await alice.edit("src/cart.py")
    await subagent(alice, "a1").stop()
    await alice.hook(alice.known | {"hook_event_name": "SubagentStop"})
    assert await held_files(team) == {"src/cart.py": "claude"}


async def test_end_of_the_parent_ends_its_subagents(team: Team, near: Arrive, subagent: Spawn):
    alice = near()
    await alice.start()
    for agent_id, file in (("a1", "src/cart.py"), ("a2", "src/tax.py")):
        helper = subagent(alice, agent_id)
        await helper.call("memory_start_session", project="shop", claude_instance=agent_id)
        await helper.edit(file)
    assert await held_files(team) == {"src/cart.py": "a1", "src/tax.py": "a2"}
    await alice.end()
    assert await held_files(team) == {}


async def test_subagent_of_codex_is_the_thread_that_its_calls_name(team: Team, near: Arrive):
    carol = near("codex")
    await carol.start()
    mark = {"agent_id": "thread-2", "agent_type": "worker"}
    starts = {
        "tool_name": "mcp__commonplace__memory_start_session",
        "tool_use_id": "call_1",
        "tool_input": {},
    }
    await carol.hook(carol.sends("before_edit", "a.py") | mark | starts)
    windows = ("codex:thread-2", f"codex:{carol.session}", "mcp:1")
    model = team.anyone(replace(access.LOCAL, windows=windows))
    await model.start_session(project="shop", claude_instance="tester")
    await model.lock_files(files=["src/cart.py"])
    root = team.anyone(replace(access.LOCAL, windows=windows[1:]))
    assert (await root.heartbeat())["agent"] == "codex"
    assert (await carol.hook(carol.sends("before_edit", "src/cart.py") | mark)).denial == ""
    assert "leased by tester" in (await carol.edit("src/cart.py")).denial
    assert await spawners(team) == {"codex": "", "tester": "codex"}
    await carol.hook(carol.known | {"hook_event_name": "SubagentStop"} | mark)
    assert await held_files(team) == {}
