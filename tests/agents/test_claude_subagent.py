"""A sub-agent of Claude Code that starts a session is an agent of its own, on its parent's connection."""

import threading

from model_dialects import Call
from observer import Observer
from programs import CLAUDE
from scripted_model import Hold, Say
from workstation import Workstation

from conftest import require_program
from patience import PATIENCE_SECONDS, wait_until

MARK = "[the sub-agent's task]"


def test_subagent_is_an_agent_of_its_own(observer: Observer, workstation: Workstation) -> None:
    require_program(CLAUDE)
    workstation.install(CLAUDE)
    denied, finished = threading.Event(), threading.Event()
    subagent = workstation.scripted_model.script_subagent(
        "parent",
        MARK,
        CLAUDE.call("memory_start_session", project="webstore", claude_instance="helper"),
        CLAUDE.call("set_memory", key="mood", value="hasty"),
        *CLAUDE.edit(workstation.cart, "total = 0", "total = 1"),
        Hold(denied),
        Say("The cart is done."),
    )
    started = Call("Agent", {"description": "cart", "prompt": MARK, "subagent_type": "general-purpose"})
    parent = workstation.open(
        CLAUDE,
        "parent",
        CLAUDE.call("set_memory", key="mood", value="calm"),
        started,
        Hold(subagent.held),
        *CLAUDE.edit(workstation.cart, "total = 1", "total = 2"),
        CLAUDE.call("get_memory", key="mood"),
        Hold(finished),
    )
    assert parent.model.held.wait(PATIENCE_SECONDS)
    wait_until(lambda: len(parent.model.requests) == 6)
    assert observer.list_live_agents() == {"claude", "helper"}
    assert observer.list_locks() == {"src/cart.py": "helper"}

    denied.set()
    wait_until(lambda: observer.list_live_agents() == {"claude"})
    finished.set()
    parent.wait()
    assert workstation.cart.read_text() == "total = 1\n"
    assert "src/cart.py is leased by helper" in parent.model.requests[4].results[-1]
    assert "calm" in parent.model.requests[5].results[-1]
