"""What install writes for Copilot CLI beside what it writes for every agent."""

import json
from pathlib import Path

import pytest

from commonplace.client.agents import load_settings
from commonplace.client.install.machine import Machine


@pytest.mark.parametrize(
    ("platform", "program", "shell", "command"),
    [
        ("linux", "/opt/my tools/commonplace", "bash", "'/opt/my tools/commonplace' hook copilot"),
        (
            "win32",
            "C:\\My Tools\\commonplace.exe",
            "powershell",
            '& "C:/My Tools/commonplace.exe" hook copilot',
        ),
    ],
)
def test_each_hook_names_its_event_and_suits_the_shell(platform: str, program: str, shell: str, command: str):
    machine = Machine(Path("/home/ann"), Path("/home/ann/shop"), (program,), platform, {})
    [edit] = load_settings("copilot").hook_edits(machine, False)
    hooks = json.loads(edit.text)["hooks"]
    assert {name: hook[shell] for name, [hook] in hooks.items()} == {
        name: f"{command} {name}" for name in hooks
    }
    editors = "create|edit|str_replace_editor|apply_patch"
    assert {name: hook["matcher"] for name, [hook] in hooks.items() if "matcher" in hook} == {
        "preToolUse": f"{editors}|bash|powershell",
        "postToolUse": f"{editors}|bash|powershell",
    }
