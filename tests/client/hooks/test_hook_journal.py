"""What hooks saw reaches the journal, and with it the next session of the place, whatever ended the last one."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hooked import Agent, Done

from team import Team

Arrive = Callable[..., Agent]
TASK = "Totals of the cart must include VAT, and prices stay in cents"


async def run_command(agent: Agent, name: str, command: str, **answer: Any) -> None:
    sent = {
        "hook_event_name": name,
        "tool_name": "Bash",
        "tool_use_id": command,
        "tool_input": {"command": command},
    }
    await agent.hook(agent.known | sent | answer)


async def work(agent: Agent, *, stops: bool = True) -> None:
    await agent.start()
    await agent.prompt(TASK)
    plan = [{"content": "Add VAT", "status": "in_progress"}, {"content": "Document VAT", "status": "pending"}]
    todo = {
        "hook_event_name": "PostToolUse",
        "tool_name": "TodoWrite",
        "tool_input": {"todos": plan},
        "tool_use_id": "p",
    }
    await agent.hook(agent.known | todo | {"tool_response": {}})
    await run_command(
        agent, "PostToolUseFailure", "pytest", error="Exit code 127\nzsh: command not found: pytest"
    )
    await run_command(
        agent, "PostToolUse", "python -m pytest -q", tool_response={"stdout": "3 failed, 9 passed in 0.4s"}
    )
    await agent.write("src/cart.py", "vat = 19\n")
    if stops:
        words = "I round per line, because invoices show lines."
        await agent.hook(agent.sends("stop") | {"last_assistant_message": words})


def read_resume(started: Done) -> dict[str, Any]:
    [pack] = [line for line in started.context.splitlines() if line.startswith("{")]
    resume: dict[str, Any] = json.loads(pack).get("resume", {})
    return resume


def require_facts(resume: dict[str, Any]) -> None:
    text = json.dumps(resume)
    facts = (
        TASK,
        "doing: Add VAT",
        "open: Document VAT",
        "python -m pytest -q",
        "command not found: pytest",
        "3 failed, 9 passed",
        "src/cart.py",
    )
    assert [fact for fact in facts if fact not in text] == []


async def test_next_session_is_told_after_an_exit(agent: Arrive, team: Team):
    claude = agent()
    await work(claude)
    await claude.end()
    team.clock.advance(minutes=15)
    resume = read_resume(await agent().start())
    require_facts(resume)
    assert "I round per line" in resume["last_words"]


async def test_another_program_is_told_of_a_session_that_was_killed(agent: Arrive, team: Team):
    await work(agent(), stops=False)
    team.clock.advance(minutes=15)
    require_facts(read_resume(await agent("codex").start()))


async def test_session_is_told_after_its_compaction(agent: Arrive):
    claude = agent()
    await work(claude, stops=False)
    await claude.hook(claude.sends("before_compact"))
    require_facts(read_resume(await claude.start(source="compact")))


@pytest.mark.parametrize("tool", ["gemini", "copilot"])
async def test_programs_of_other_makers_are_understood(agent: Arrive, team: Team, tool: str):
    first = agent(tool)
    await first.start()
    await first.prompt(TASK)
    await first.write("src/cart.py", "vat = 19\n")
    await first.hook(first.sends("stop"))
    await first.end()
    team.clock.advance(minutes=15)
    resume = read_resume(await agent().start())
    assert (resume["task"], resume["own_lines"][0].partition(" (")[0]) == (TASK, "src/cart.py")
