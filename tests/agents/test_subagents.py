"""A sub-agent of Codex and of opencode that starts a session is an agent of its own until it is done."""

import threading
from dataclasses import replace
from typing import NamedTuple

import pytest
from model_dialects import Call
from observer import Observer
from programs import CODEX, OPENCODE, DrivenProgram
from scripted_model import Hold, Say
from workstation import Workstation

from conftest import require_program
from patience import wait_until


class Spawning(NamedTuple):
    """How a program starts a sub-agent: the model's calls, and what stands only in the sub-agent's prompts."""

    program: DrivenProgram
    calls: tuple[Call, ...]
    mark: str


CODEX_WITH_SUBAGENTS = replace(
    CODEX, settings={".codex/config.toml": "[features]\nmulti_agent_v2 = true\n[tui]\nanimations = false\n"}
)
TASK = "[the sub-agent's task]"
SPAWNINGS = (
    Spawning(
        CODEX_WITH_SUBAGENTS,
        (
            Call("spawn_agent", {"message": TASK, "task_name": "cart"}),
            Call("wait_agent", {"timeout_ms": 60_000}),
        ),
        "You are now a newly spawned child agent",
    ),
    Spawning(
        OPENCODE, (Call("task", {"description": "cart", "prompt": TASK, "subagent_type": "general"}),), TASK
    ),
)


@pytest.mark.parametrize("spawning", SPAWNINGS, ids=lambda spawning: spawning.program.name)
def test_subagent_is_an_agent_of_its_own(
    spawning: Spawning, observer: Observer, workstation: Workstation
) -> None:
    program = spawning.program
    require_program(program)
    workstation.install(program)
    looked, finished = threading.Event(), threading.Event()
    subagent = workstation.scripted_model.script_subagent(
        "parent",
        spawning.mark,
        program.call("memory_start_session", project="webstore", claude_instance="helper"),
        program.call("memory_send_message", to_instance=program.name, message="One moment, please."),
        *program.edit(workstation.cart, "total = 0", "total = 1"),
        Hold(looked),
        Say("The cart is done."),
    )
    parent = workstation.open(
        program,
        "parent",
        *spawning.calls,
        program.call("memory_get_messages"),
        Hold(finished),
    )
    assert subagent.held.wait(240), parent.read_output()
    assert observer.list_live_agents() == {program.name, "helper"}
    assert observer.list_locks() == {"src/cart.py": "helper"}
    assert any("You are a sub-agent of the agent" in prompt for prompt in subagent.requests[0].prompts)

    looked.set()
    wait_until(lambda: observer.list_live_agents() == {program.name})
    parent.wait_until_held()
    finished.set()
    parent.wait()
    assert workstation.cart.read_text() == "total = 1\n"
    assert observer.list_locks() == {}
    mail = parent.last_request.results[-1]
    assert ('"from":"helper"' in mail, "One moment, please." in mail) == (True, True), mail
