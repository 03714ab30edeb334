"""The git gate in real agent programs: two in one clone, and what the model of the second reads when it is refused.

All rules of the gate are in tests/client/hooks/test_incidents.py. Here each program runs a few commands through its own
shell tool.
"""

import re
import threading
from pathlib import Path

import pytest
from model_dialects import Call, ModelRequest
from observer import Observer
from programs import CLAUDE, CODEX, PROGRAMS, DrivenProgram
from scripted_model import Hold, ScriptStep
from workstation import Workstation

from conftest import require_program
from patience import wait_until

REFUSED_LINES = {
    "git stash": ("git stash", "git shelve"),
    "git add -A && git commit -qm all": ("git add -A", "src/cart.py (NEIGHBOUR, "),
    "git checkout -- .": ("git checkout -- .", "src/cart.py (NEIGHBOUR, "),
    'bash -c "git reset --hard"': ("git reset --hard", "src/cart.py (NEIGHBOUR, "),
}
"""What the model runs; the command that the refusal names, and what else it says."""

SED = "sed -i s/1/9/ cart.py"
PATCH = "*** Begin Patch\n*** Update File: src/cart.py\n@@\n-total = 1\n+total = 9\n*** End Patch"


def list_writes(program: DrivenProgram, cart: Path) -> list[Call]:
    """Further tools of the program, and further ways to use them, each of which would change the cart."""
    text, folder = "total = 9\n", str(cart.parent)
    writes = {
        "claude": [
            Call("Write", {"file_path": str(cart), "content": text}),
            Call("Monitor", {"command": f"cd src && {SED}", "description": "watch", "timeout_ms": 1000}),
        ],
        "codex": [
            Call("exec_command", {"cmd": f"apply_patch <<'EOF'\n{PATCH}\nEOF\n"}),
            Call("exec_command", {"cmd": SED, "workdir": folder}),
        ],
        "gemini": [
            Call("write_file", {"file_path": str(cart), "content": text}),
            Call("run_shell_command", {"command": SED, "dir_path": folder, "is_background": True}),
        ],
        "opencode": [
            Call("write", {"filePath": str(cart), "content": text}),
            Call("bash", {"command": SED, "description": "Run it", "workdir": folder}),
        ],
        "copilot": [
            Call("create", {"path": str(cart), "file_text": text}),
            Call("bash", {"command": f"cd src && {SED}", "description": "Run it", "mode": "async"}),
        ],
    }
    return [program.shell(f"cd src && {SED}"), *writes[program.name]]


each_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)


def follow_refusal(program: DrivenProgram, index: int) -> ScriptStep:
    """The model runs what a refusal told it to run instead, and commits."""

    def read_refusal(request: ModelRequest) -> Call:
        found = re.search(r"- (git add -- .+?)    your own changes", request.results[index])
        assert found, request.results[index]
        return program.shell(f"{found[1]} && git commit -qm price")

    return read_refusal


@each_program
def test_command_that_would_take_the_work_of_a_neighbour_is_refused(
    program: DrivenProgram, observer: Observer, workstation: Workstation
) -> None:
    neighbour_program = CODEX if program is not CODEX else CLAUDE
    require_program(program, neighbour_program)
    workstation.install(program, neighbour_program)
    released = threading.Event()
    neighbour = workstation.open(
        neighbour_program,
        "neighbour",
        *neighbour_program.edit(workstation.cart, "total = 0", "total = 1"),
        Hold(released),
    )
    neighbour.wait_until_held()

    edit = program.edit(workstation.price, "price = 1", "price = 2")
    writes = list_writes(program, workstation.cart)
    # Claude Code shows some of its tools only to a model that searched for them.
    search = [Call("ToolSearch", {"query": "select:Monitor", "max_results": 1})] * (program is CLAUDE)
    window = workstation.run(
        program,
        "sweeper",
        *edit,
        *(program.shell(line) for line in REFUSED_LINES),
        *search,
        *writes,
        follow_refusal(program, len(edit) + 1),
    )
    results = window.last_request.results[len(edit) :]
    for (line, (command, words)), result in zip(REFUSED_LINES.items(), results, strict=False):
        assert f"`{command}` is refused: " in result, (line, result)
        assert words.replace("NEIGHBOUR", neighbour_program.name) in result, (line, result)
    for call, result in zip(writes, results[len(REFUSED_LINES) + len(search) :], strict=False):
        assert f"src/cart.py is leased by {neighbour_program.name} " in result, (call, result)
    assert workstation.cart.read_text() == "total = 1\n"
    assert workstation.git("status", "--porcelain") == " M src/cart.py\n"
    assert workstation.git("show", "--name-only", "--format=%s") == "price\n\nsrc/price.py\n"
    assert workstation.git("stash", "list") + workstation.git("for-each-ref", "refs/commonplace") == ""
    prevented = observer.count_prevented()
    assert prevented.keys() <= {("commands", program.name), ("edits", program.name)}
    assert prevented.total() == len(REFUSED_LINES) + len(writes)
    released.set()
    neighbour.wait()


@each_program
def test_lone_session_is_not_refused(
    program: DrivenProgram, observer: Observer, workstation: Workstation
) -> None:
    """Also with changes that an earlier session left; what a command destroys can be brought back."""
    require_program(program)
    workstation.install(program)
    workstation.run(program, "earlier", *program.edit(workstation.cart, "total = 0", "total = 1"))
    wait_until(lambda: not observer.list_live_agents())
    lines = (
        "git stash -q && git stash pop -q && echo popped",
        "git add -A && git commit -qm all && echo committed",
        "echo 'total = 3' > src/cart.py && git checkout -- . && echo discarded",
    )
    window = workstation.run(program, "lone", *(program.shell(line) for line in lines))
    for result, word in zip(window.last_request.results, ("popped", "committed", "discarded"), strict=True):
        assert word in result
        assert "refused" not in result
        assert "ommonplace" not in result
    assert workstation.git("show", "--name-only", "--format=%s") == "all\n\nsrc/cart.py\n"
    assert workstation.cart.read_text() == "total = 1\n"
    assert observer.count_prevented().keys() <= {("rescues", program.name)}
