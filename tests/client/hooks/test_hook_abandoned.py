"""A program that is gone without a word leaves its name and its files to the next window in the same place."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hooked import Agent, Done

import product
from patience import PATIENCE_SECONDS
from team import Team

Arrive = Callable[..., Agent]

PROGRAM = """
import json, subprocess, sys
for line in sys.stdin:
    done = subprocess.run(json.loads(sys.argv[1]), input=line.encode(), capture_output=True)
    print(done.stdout.decode().strip() or "{}", flush=True)
"""


class Program:
    """A process with the name of the agent program, which runs its hooks."""

    def __init__(self, agent: Agent, folder: Path) -> None:
        self._agent = agent
        script = folder / f"{agent.tool}.py"
        script.write_text(PROGRAM)
        words = json.dumps(product.command("hook", agent.tool))
        self._process = subprocess.Popen(
            [sys.executable, str(script), words],
            cwd=agent.cwd,
            env=product.environment(**agent.environ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    async def hook(self, kind: str, *files: str) -> Done:
        return Done(0, await asyncio.to_thread(self._exchange, self._agent.sends(kind, *files)), "")

    def _exchange(self, payload: dict[str, Any]) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(payload) + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline()

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate(timeout=PATIENCE_SECONDS)


@pytest.fixture
def start_program(agent: Arrive, tmp_path: Path) -> Iterator[Callable[[str], Program]]:
    started: list[Program] = []

    def start(tool: str) -> Program:
        started.append(Program(agent(tool), tmp_path))
        return started[-1]

    yield start
    for program in started:
        program.kill()


@pytest.mark.skipif(sys.platform != "linux", reason="processes are known on Linux only")
async def test_next_window_takes_over_from_a_program_that_was_killed(
    team: Team, start_program: Callable[[str], Program]
):
    first = start_program("gemini")
    await first.hook("session_start")
    assert (await first.hook("before_edit", "src/cart.py")).denial == ""
    first.kill()
    second = start_program("gemini")
    assert (await second.hook("session_start")).context.startswith("You are the agent gemini in")
    assert (await second.hook("before_edit", "src/cart.py")).denial == ""
    roster = await (await team.agent("observer")).list_agents()
    assert {entry["instance"] for entry in roster["agents"]} == {"gemini", "observer"}


@pytest.mark.skipif(sys.platform != "linux", reason="processes are known on Linux only")
async def test_program_that_runs_keeps_its_session(start_program: Callable[[str], Program]):
    first, second, other_tool = (start_program(tool) for tool in ("gemini", "gemini", "codex"))
    await first.hook("session_start")
    await first.hook("before_edit", "src/cart.py")
    assert (await second.hook("session_start")).context.startswith("You are the agent gemini-2 in")
    assert "src/cart.py is leased by gemini " in (await second.hook("before_edit", "src/cart.py")).denial
    await other_tool.hook("session_start")
    assert "src/cart.py is leased by gemini " in (await other_tool.hook("before_edit", "src/cart.py")).denial
