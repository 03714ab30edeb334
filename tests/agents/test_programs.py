"""The first day with real agent programs: install, start, lease, edit, hand over, find the transcript.

`make agents` runs these tests. Each drives a program of `programs.py` against a real server and a scripted model.
"""

import threading

import pytest
from observer import Observer
from programs import CLAUDE, CODEX, PROGRAMS, DrivenProgram
from scripted_model import Hold, Say
from workstation import PROGRAM_PATIENCE_SECONDS, Workstation

from conftest import require_program, require_terminal
from patience import wait_until

NOTES = "The VAT of gift cards is still missing. " * 150 + "Begin with src/price.py."

COMPACTING_PROGRAMS = [program for program in PROGRAMS if program.full_context_tokens]
TERMINAL_PROGRAMS = [program for program in PROGRAMS if program.terminal]
SUBAGENT_PROGRAMS = [program for program in PROGRAMS if program.start_subagent]
each_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)


def rival_of(program: DrivenProgram) -> DrivenProgram:
    """A program of another vendor."""
    return CODEX if program is not CODEX else CLAUDE


@each_program
def test_first_day(program: DrivenProgram, observer: Observer, workstation: Workstation) -> None:
    live_first_day(program, observer, workstation)


@pytest.mark.parametrize("server", ["auth on"], indirect=True)
def test_first_day_with_one_key_for_all(observer: Observer, workstation: Workstation) -> None:
    live_first_day(CODEX, observer, workstation)


def live_first_day(program: DrivenProgram, observer: Observer, workstation: Workstation) -> None:
    """One window: model and hook are one agent; its lease holds against another program; the next window continues."""
    rival = rival_of(program)
    require_program(program, rival)
    workstation.install(program, rival)
    released = threading.Event()
    window = workstation.open(
        program,
        "first",
        program.call("memory_start_session", project="webstore", claude_instance="backend"),
        program.call("memory_lock_files", files=["src/cart.py"], reason="rounding"),
        Hold(released),
        *program.edit(workstation.cart, "total = 0", "total = 1"),
        program.call("memory_end_session", summary="Rounding is done.", handoff_notes=NOTES),
        Say("The zebra crossing of the cart is painted."),
    )
    window.wait_until_held()
    assert '"agent":"backend"' in window.last_request.results[0]
    assert observer.list_agents() == {"backend"}

    denied = workstation.run(rival, "rival", *rival.edit(workstation.cart, "total = 0", "total = 9"))
    assert "src/cart.py is leased by backend" in denied.last_request.results[-1]
    assert workstation.cart.read_text() == "total = 0\n"

    released.set()
    window.wait()
    assert workstation.cart.read_text() == "total = 1\n", window.last_request.results
    assert window.list_boot_pack_counts() == [1] * len(window.model.requests)
    wait_until(lambda: not observer.list_live_agents())
    assert observer.list_locks() == {}

    following = workstation.run(program, "second", Say("I go on."))
    assert "You are the agent backend " in following.prompt_text
    assert NOTES.strip() in following.prompt_text

    workstation.sync()
    assert any("zebra crossing" in snippet for snippet in observer.list_matches("zebra crossing of the cart"))


@each_program
def test_two_windows_are_two_agents(
    program: DrivenProgram, observer: Observer, workstation: Workstation
) -> None:
    """No call names a session, and yet private values and notes stay apart."""
    require_program(program)
    workstation.install(program, toolsets="all")
    board, released = observer.create_blackboard(), threading.Event()
    look_again = [
        program.call("get_memory", key="mood"),
        program.call("get_messages", session_id=board, include_private=True),
    ]
    first = workstation.open(
        program,
        "one",
        program.call("set_memory", key="mood", value="calm"),
        program.call("add_private_note", session_id=board, content="a calm note"),
        *program.edit(workstation.cart, "total = 0", "total = 1"),
        Hold(released),
        *look_again,
    )
    first.wait_until_held()
    second = workstation.run(
        program,
        "two",
        program.call("set_memory", key="mood", value="hasty"),
        program.call("add_private_note", session_id=board, content="a hasty note"),
        *program.edit(workstation.cart, "total = 1", "total = 2"),
        *look_again,
    )
    assert observer.list_agents() == {program.name, f"{program.name}-2"}
    assert f"src/cart.py is leased by {program.name} " in second.last_request.results[-3]
    assert workstation.cart.read_text() == "total = 1\n"
    released.set()
    first.wait()
    for window, own, other in ((first, "calm", "hasty"), (second, "hasty", "calm")):
        seen = "\n".join(window.last_request.results[-2:])
        assert (seen.count(own), seen.count(other)) == (2, 0), seen


@pytest.mark.parametrize("program", COMPACTING_PROGRAMS, ids=lambda program: program.name)
def test_pack_returns_after_compaction(program: DrivenProgram, workstation: Workstation) -> None:
    """The program compacts when a reply was large; the boot pack stands once in what the model reads before and after."""
    require_program(program)
    workstation.install(program)
    look = program.call("memory_get_locks")
    window = workstation.run(
        program,
        "long",
        look,
        look._replace(tokens=program.full_context_tokens),
        look,
        Say("Done."),
    )
    assert window.reads_summary
    assert window.list_boot_pack_counts() == [1] * len(window.model.requests)


@pytest.mark.parametrize("program", TERMINAL_PROGRAMS, ids=lambda program: program.name)
def test_pack_returns_after_compaction_in_a_terminal(
    program: DrivenProgram, observer: Observer, workstation: Workstation
) -> None:
    require_program(program)
    require_terminal()
    workstation.install(program)
    window = workstation.open_terminal(
        program, "typed", Say("That is one.", tokens=50_000), Say("That is two.")
    )
    window.type_prompt("Begin", "That is one.")
    window.compact()
    window.type_prompt("Continue", "That is two.")
    assert window.reads_summary
    assert window.list_boot_pack_counts() == [1, 1]
    assert observer.list_live_agents() == {program.name}
    window.quit()
    wait_until(lambda: not observer.list_live_agents())


@pytest.mark.parametrize("program", TERMINAL_PROGRAMS, ids=lambda program: program.name)
def test_window_after_a_closed_terminal_is_the_same_agent(
    program: DrivenProgram, observer: Observer, workstation: Workstation
) -> None:
    """Gemini CLI sends no end then: its next window ends the session, and may edit the same file."""
    require_program(program)
    require_terminal()
    workstation.install(program)
    window = workstation.open_terminal(
        program, "closed", *program.edit(workstation.cart, "total = 0", "total = 1"), Say("That is one.")
    )
    window.type_prompt("Begin", "That is one.")
    window.terminal.close()
    wait_until(lambda: not workstation.list_processes())
    workstation.run(program, "next", *program.edit(workstation.cart, "total = 1", "total = 2"))
    assert workstation.cart.read_text() == "total = 2\n"
    assert observer.list_agents() == {program.name}


@pytest.mark.parametrize("program", SUBAGENT_PROGRAMS, ids=lambda program: program.name)
def test_subagent_that_starts_a_session_is_an_agent_of_its_own(
    program: DrivenProgram, observer: Observer, workstation: Workstation
) -> None:
    """Not in Gemini CLI, whose hooks cannot tell a sub-agent from its parent; Claude Code: test_claude.py."""
    require_program(program)
    assert program.start_subagent is not None
    workstation.install(program, toolsets="all")
    seen, mark = threading.Event(), "[the sub-agent's task]"
    subagent = workstation.scripted_model.script_subagent(
        "parent",
        mark,
        program.call("memory_start_session", project="webstore", claude_instance="helper"),
        program.call("set_memory", key="mood", value="hasty"),
        *program.edit(workstation.cart, "total = 0", "total = 1"),
        Hold(seen),
    )
    parent = workstation.open(
        program,
        "parent",
        program.call("set_memory", key="mood", value="calm"),
        *program.start_subagent(mark),
        program.call("get_memory", key="mood"),
    )
    assert subagent.held.wait(PROGRAM_PATIENCE_SECONDS), parent.read_output()
    assert observer.list_live_agents() == {program.name, "helper"}
    assert observer.list_locks() == {"src/cart.py": "helper"}
    seen.set()
    parent.wait()
    assert "calm" in parent.last_request.results[-1]
    wait_until(lambda: not observer.list_live_agents())


@each_program
def test_settings_are_as_before(program: DrivenProgram, workstation: Workstation) -> None:
    require_program(program)
    workstation.write_settings(program)
    before = dict(workstation.snapshot())
    workstation.install(program)
    installed = dict(workstation.snapshot())
    workstation.install(program)
    assert dict(workstation.snapshot()) == installed != before
    workstation.commonplace("uninstall", "--yes")
    assert dict(workstation.snapshot()) == before
