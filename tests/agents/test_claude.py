"""What only Claude Code does: sub-agents on their parent's connection, and /clear under a connection that stays."""

import threading

from model_dialects import Call
from observer import Observer
from programs import CLAUDE
from scripted_model import Hold, Say
from workstation import Workstation

from conftest import require_program, require_terminal
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


def test_conversation_after_clear_is_the_same_agent_with_a_new_session(
    observer: Observer, workstation: Workstation
) -> None:
    require_program(CLAUDE)
    require_terminal()
    workstation.install(CLAUDE)
    window = workstation.open_terminal(
        CLAUDE,
        "cleared",
        CLAUDE.call("memory_start_session", project="webstore", claude_instance="backend"),
        CLAUDE.call("memory_lock_files", files=["src/cart.py"], reason="rounding"),
        Say("That is one."),
        CLAUDE.call("memory_heartbeat"),
        Say("That is two."),
    )
    window.type_prompt("Begin", "That is one.")
    assert observer.list_locks() == {"src/cart.py": "backend"}
    window.terminal.submit("/clear", lambda: not window.terminal.shows("That is one."))
    window.type_prompt("Continue", "That is two.")
    assert '"agent":"backend"' in window.last_request.results[0]
    assert window.list_boot_pack_counts() == [1] * 5
    assert observer.list_agents() == {"backend"}
    assert observer.list_locks() == {}
    window.quit()
