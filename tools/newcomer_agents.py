"""The story of two makers with their own programs: Claude Code and Codex from npm, driven by a scripted model.

`make newcomer ARGS=--agents` tells it instead of the short form, whose hooks are called as the programs call them. The
programs, the model and the machine are those of `tests/agents`.
"""

import re
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/agents")]

from model_dialects import Call, ModelRequest  # noqa: E402 - after the path
from programs import CLAUDE, CODEX, find_fault  # noqa: E402 - after the path
from scripted_model import Hold, Say, ScriptedModel  # noqa: E402 - after the path
from workstation import RunningWindow, Workstation  # noqa: E402 - after the path

Require = Callable[[object, str, str], None]

_NOTES = "The VAT of gift cards is still missing. Begin with src/price.py."
_DOCUMENT_ID = re.compile(r"doc_[0-9a-f]{12}")


def install_programs() -> None:
    """Install both programs; it takes minutes the first time and is no part of the story."""
    started = time.monotonic()
    for program in (CLAUDE, CODEX):
        if fault := find_fault(program):
            sys.exit(f"{program.name} cannot be tried: {fault}")
    sys.stdout.write(f"(npm installed the programs in {time.monotonic() - started:.0f} s)\n")


def tell_story(command: list[str], url: str, folder: Path, require: Require) -> int:
    """Claude Code holds a file, Codex is denied it; Claude hands over, and Codex goes on from there."""
    model = ScriptedModel()
    station = Workstation(folder / "station", url, model, command=command)
    station.create()
    try:
        station.install(CLAUDE, CODEX)
        _share_lease(station, require)
        _share_handoff(station, require)
    finally:
        station.close()
        model.close()
    return 1 + len(station.windows)


def _share_lease(station: Workstation, require: Require) -> None:
    released = threading.Event()
    claude = station.open(
        CLAUDE,
        "claude",
        CLAUDE.call("memory_start_session", project="webstore", claude_instance="backend"),
        CLAUDE.call("memory_lock_files", files=["src/cart.py"], reason="rounding"),
        Hold(released),
        *CLAUDE.edit(station.cart, "total = 0", "total = 1"),
        CLAUDE.call("memory_end_session", summary="Rounding is done.", handoff_notes=_NOTES),
        Say("Done."),
    )
    claude.wait_until_held()
    codex = station.run(CODEX, "codex", *CODEX.edit(station.cart, "total = 0", "total = 9"))
    denied = codex.last_request.results[-1]
    require(
        "src/cart.py is leased by backend" in denied, "Codex is denied the file that Claude holds", denied
    )
    require(station.cart.read_text() == "total = 0\n", "the file is as it was", station.cart.read_text())
    released.set()
    claude.wait()
    require(station.cart.read_text() == "total = 1\n", "Claude edits the file", claude.read_output())


def _share_handoff(station: Workstation, require: Require) -> None:
    """Codex is told of Claude's handoff when it starts, opens it, and edits the file that is free now."""
    codex = station.run(
        CODEX,
        "next",
        _open_handoff,
        *CODEX.edit(station.cart, "total = 1", "total = 2"),
        Say("Done."),
    )
    require("Rounding is done." in codex.prompt_text, "Codex is told of the handoff", codex.prompt_text)
    require(_NOTES in _join_results(codex), "Codex reads the notes", _join_results(codex))
    require(station.cart.read_text() == "total = 2\n", "Codex edits the free file", codex.read_output())


def _open_handoff(request: ModelRequest) -> Call:
    found = _DOCUMENT_ID.search("\n".join(request.prompts))
    return CODEX.call("memory_get_by_id", doc_id=found[0] if found else "doc_000000000000")


def _join_results(window: RunningWindow) -> str:
    return "\n".join(window.last_request.results)
