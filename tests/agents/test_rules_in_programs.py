"""Rules that hold in the real programs: twenty are broken in one session of each, and none of it happens.

The rules and what breaks them: tests/rules_broken.json, which tests/client/hooks/test_hook_rules.py plays with every hook.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from model_dialects import Call
from observer import Observer
from programs import OPENCODE, PROGRAMS, DrivenProgram
from scripted_model import Say, ScriptStep
from workstation import Workstation

from conftest import require_program

RULES: list[dict[str, Any]] = json.loads((Path(__file__).parents[1] / "rules_broken.json").read_text())
*TOOL_RULES, STOP_RULE = RULES


def write_patch(file: str, text: str) -> Call:
    lines = "".join(f"+{line}\n" for line in text.splitlines())
    return Call("apply_patch", f"*** Begin Patch\n*** Add File: {file}\n{lines}*** End Patch\n")


# The tool of each program that writes a whole file.
WRITES: dict[str, Callable[[str, str], Call]] = {
    "claude": lambda file, text: Call("Write", {"file_path": file, "content": text}),
    "codex": write_patch,
    "gemini": lambda file, text: Call("write_file", {"file_path": file, "content": text}),
    "opencode": lambda file, text: Call("write", {"filePath": file, "content": text}),
    "copilot": lambda file, text: Call("create", {"path": file, "file_text": text}),
}


def act(program: DrivenProgram, repository: Path, deed: dict[str, Any]) -> Call:
    if "command" in deed:
        return program.shell(deed["command"])
    path = repository / deed["file"]
    path.parent.mkdir(parents=True, exist_ok=True)  # not every program creates folders
    return WRITES[program.name](str(path), deed["text"])


def is_denied(rule: dict[str, Any], text: str) -> bool:
    return f'Rule "{rule["name"]}" by operator (webstore): {rule["rule"]}' in text


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_none_of_twenty_broken_rules_gets_through(
    program: DrivenProgram, observer: Observer, workstation: Workstation
) -> None:
    require_program(program)
    workstation.install(program)
    (workstation.repository / "Makefile").write_text("test:\n\t@echo tested\n")
    for rule in RULES:
        values = {"name": rule["name"], "rule": rule["rule"], "enforce": rule["enforce"]}
        observer.act_as_operator("memory_guidelines", action="set", scope="webstore", **values)
    deeds = [(rule, kind) for rule in TOOL_RULES for kind in ("breaks", "allows")]
    steps: list[ScriptStep] = [act(program, workstation.repository, rule[kind]) for rule, kind in deeds]
    window = workstation.run(
        program, "rebel", *steps, Say("I stop."), program.shell("make test"), Say("Tested.")
    )

    results = window.last_request.results
    let_through = [
        rule["name"]
        for (rule, kind), result in zip(deeds, results, strict=False)
        if (kind == "breaks") != is_denied(rule, result)
    ]
    assert let_through == []
    assert len(results) == len(deeds) + (program is not OPENCODE)
    for rule in TOOL_RULES:
        if "file" in rule["breaks"]:
            assert not (workstation.repository / rule["breaks"]["file"]).exists()
            assert (workstation.repository / rule["allows"]["file"]).exists()
    assert workstation.git("log", "--format=%s") == "nothing\nfirst\n"
    if program is OPENCODE:  # `opencode run` ends when the model does, and takes no further prompt
        assert observer.count_prevented()["rules", program.name] >= len(TOOL_RULES)
        return
    assert is_denied(STOP_RULE, window.prompt_text)
    assert "tested" in results[-1]
    assert observer.count_prevented()["rules", program.name] == len(RULES)
