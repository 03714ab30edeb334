"""Which agent a commit is of, by the ids that agent programs give to the commands that their models run."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hooked import Agent, Done, git, run

from commonplace.client.commands import guard

Arrive = Callable[..., Agent]
CHILD = {"agent_id": "child-1", "agent_type": "worker"}


@pytest.fixture
def guarded(shop: Path) -> Path:
    for name in ("pre-commit", "post-commit"):
        guard.install_hook(shop / ".git/hooks", name)
    return shop


async def commit(agent: Agent, **environ: str) -> Done:
    """As a command of its model; the environment has only what the agent program puts there."""
    (agent.cwd / "src/cart.py").write_text("changed\n")
    git(agent.cwd, "add", "src/cart.py")
    return await run(["git", "commit", "-m", "work"], agent.cwd, agent.environ | environ)


async def child_edits(agent: Agent) -> None:
    """A sub-agent starts a session of its own and edits a file."""
    starts = {
        "tool_name": "mcp__commonplace__memory_start_session",
        "tool_use_id": "call_1",
        "tool_input": {},
    }
    if agent.tool == "opencode":
        starts["tool_name"] = "commonplace_memory_start_session"
    await agent.start()
    await agent.hook(agent.sends("before_edit", "a.py") | CHILD | starts)
    assert (await agent.hook(agent.sends("before_edit", "src/cart.py") | CHILD)).denial == ""


def variables(tool: str, session: str, subagent: str = "") -> dict[str, str]:
    if tool == "codex":
        return {"CODEX_SESSION_ID": session, "CODEX_THREAD_ID": subagent or session}
    if tool == "opencode":
        parent = {"COMMONPLACE_PARENT_SESSION": session} if subagent else {}
        return {"COMMONPLACE_AGENT_SESSION": subagent or session} | parent
    return {"claude": {"CLAUDE_CODE_SESSION_ID": session}, "copilot": {"COPILOT_AGENT_SESSION_ID": session}}[
        tool
    ]


@pytest.mark.parametrize("tool", ["claude", "codex", "opencode", "copilot"])
async def test_holder_is_known_by_what_its_program_says(near: Arrive, guarded: Path, tool: str):
    alice, other = near(tool, cwd=guarded), near("codex", cwd=guarded)
    await alice.edit("src/cart.py")
    await other.start()
    assert (await commit(other, **variables("codex", other.session))).code == 1
    done = await commit(alice, **variables(tool, alice.session))
    assert (done.code, done.stderr) == (0, "")


@pytest.mark.parametrize("tool", ["codex", "opencode"])
async def test_file_of_a_sub_agent_is_committed_by_it_and_not_by_its_parent(
    near: Arrive, guarded: Path, tool: str
):
    alice = near(tool, cwd=guarded)
    await child_edits(alice)
    assert "is leased by worker" in (await commit(alice, **variables(tool, alice.session))).stderr
    done = await commit(alice, **variables(tool, alice.session, "child-1"))
    assert (done.code, done.stderr) == (0, "")


@pytest.mark.parametrize("tool", ["codex", "opencode"])
async def test_sub_agent_without_a_session_commits_for_its_parent(near: Arrive, guarded: Path, tool: str):
    alice = near(tool, cwd=guarded)
    await alice.edit("src/cart.py")
    done = await commit(alice, **variables(tool, alice.session, "child-1"))
    assert (done.code, done.stderr) == (0, "")


async def test_claude_does_not_say_which_of_its_sub_agents_commits_so_the_files_of_all_pass(
    near: Arrive, guarded: Path
):
    alice, other = near(cwd=guarded), near("codex", cwd=guarded)
    await child_edits(alice)
    await other.start()
    assert (await commit(other, **variables("codex", other.session))).code == 1
    done = await commit(alice, **variables("claude", alice.session))
    assert (done.code, done.stderr) == (0, "")


async def test_file_of_another_agent_is_refused_beside_that_of_a_sub_agent(near: Arrive, guarded: Path):
    alice, other = near(cwd=guarded), near("codex", cwd=guarded)
    await child_edits(alice)
    await other.edit("src/tax.py")
    (guarded / "src/tax.py").write_text("changed\n")
    git(guarded, "add", "src/tax.py")
    refused = await commit(alice, **variables("claude", alice.session))
    assert (refused.code, "src/tax.py is leased by codex" in refused.stderr, "cart" in refused.stderr) == (
        1,
        True,
        False,
    )


async def test_agent_that_another_one_runs_commits_as_itself(agent: Arrive, guarded: Path, home: Path):
    outer, inner = agent(cwd=guarded), agent("codex", cwd=guarded)
    await outer.start()
    state = home / "hooks" / outer.session / "session.json"
    session = json.loads(state.read_bytes())
    state.write_text(json.dumps(session | {"ancestors": session["ancestors"][1:]}))
    await inner.edit("src/cart.py")
    environ = variables("claude", outer.session) | variables("codex", inner.session)
    assert (await commit(inner, **environ)).code == 0
