"""A program waits for a permission, and a person who sees it elsewhere answers."""

import pytest
from model_dialects import Call
from observer import Observer
from programs import CLAUDE, CODEX, DrivenProgram
from scripted_model import Say
from workstation import Workstation

from conftest import require_program, require_terminal
from patience import wait_until


def ask_for(program: DrivenProgram, command: str) -> Call:
    """The model calls the shell tool so that the program asks for a permission."""
    call = program.shell(command)
    escalated = {"sandbox_permissions": "require_escalated", "justification": "May I?"}
    return call._replace(arguments=call.arguments | escalated) if program is CODEX else call


@pytest.mark.parametrize("program", [CLAUDE, CODEX], ids=lambda program: program.name)
def test_permission_is_answered_from_elsewhere(
    program: DrivenProgram, observer: Observer, workstation: Workstation
) -> None:
    """The first command is allowed and runs; the second is denied, and the model reads why."""
    require_program(program)
    require_terminal()
    workstation.hook_settings["PERMISSION_SECONDS"] = "50"  # Codex opens its dialog only after the hook
    workstation.install(program)
    commands = [f"git commit --allow-empty -qm {word}" for word in ("allowed", "denied")]
    window = workstation.open_terminal(
        program, "asking", *(ask_for(program, command) for command in commands), Say("That is all.")
    )
    window.terminal.submit("Begin", lambda: bool(window.model.requests))
    for command, decision in zip(commands, ("allow", "deny"), strict=True):
        wait_until(lambda command=command: command in observer.list_requests())
        request = observer.list_requests()[command]
        shown = {"project": "webstore", "request_id": request["id"], "shown": request["shown"]}
        observer.act_as_operator("memory_answer_request", **shown, decision=decision, note="not on Fridays")
    window.terminal.wait_for("That is all.")
    assert workstation.git("log", "--format=%s") == "allowed\nfirst\n"
    assert "denied this: not on Fridays" in window.last_request.results[-1]
    assert observer.list_requests() == {}
    window.quit()
