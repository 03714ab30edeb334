"""`commonplace install` over the hooks of an older version: they are replaced, and uninstall leaves none."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from user import User

pytestmark = pytest.mark.slow

SERVER = ("--url", "http://127.0.0.1:9123", "--key", "cp_test_key", "--force", "--no-schedule")
PROGRAM = str(Path(sys.executable).with_name("commonplace"))
MOVED_PROGRAM = "/opt/old folder/bin/commonplace"

# What the version before sub-agents and ties wrote: event, matcher and timeout.
OLD_HOOKS: dict[str, tuple[str, dict[str, tuple[str, int]]]] = {
    "claude": (
        ".claude/settings.json",
        {
            "SessionStart": ("", 10),
            "PreToolUse": ("Write|Edit|MultiEdit|NotebookEdit", 10),
            "PostToolUse": ("Write|Edit|MultiEdit|NotebookEdit", 10),
            "PreCompact": ("", 10),
            "Stop": ("", 10),
            "SessionEnd": ("", 5),
        },
    ),
    "codex": (
        ".codex/hooks.json",
        {
            "SessionStart": ("", 10),
            "PreToolUse": ("apply_patch", 10),
            "PostToolUse": ("apply_patch", 10),
            "PreCompact": ("", 10),
            "Stop": ("", 10),
            "SessionEnd": ("", 3),
        },
    ),
    "gemini": (
        ".gemini/settings.json",
        {
            "SessionStart": ("", 10_000),
            "BeforeTool": ("write_file|replace", 10_000),
            "AfterTool": ("write_file|replace", 10_000),
            "PreCompress": ("", 10_000),
            "AfterAgent": ("", 10_000),
            "SessionEnd": ("", 10_000),
        },
    ),
}
THEIRS = {"matcher": "Bash", "hooks": [{"type": "command", "command": "~/bin/check.sh"}]}


def old_group(agent: str, program: str, matcher: str, timeout: int) -> dict[str, Any]:
    name = {"name": "commonplace"} if agent == "gemini" else {}
    quoted = f"'{program}'" if " " in program else program
    handler = {"type": "command", **name, "command": f"{quoted} hook {agent}", "timeout": timeout}
    return ({"matcher": matcher} if matcher else {}) | {"hooks": [handler]}


def has_old_hooks(user: User, agent: str, program: str, *, with_record: bool) -> None:
    path, events = OLD_HOOKS[agent]
    groups = {event: old_group(agent, program, *settings) for event, settings in events.items()}
    hooks = {event: [group] for event, group in groups.items()}
    hooks["Notification"] = [THEIRS]
    user.has({path: json.dumps({"hooks": hooks}, indent=2).encode()})
    edits = [
        {"act": "append", "at": ["hooks", event], "value": group, "agent": agent, "part": "hooks", "made": 1}
        for event, group in groups.items()
    ]
    if with_record:
        record = {"version": 1, "files": [{"path": str(user.home / path), "edits": edits}]}
        user.has({".commonplace/installed.json": json.dumps(record).encode()})


def our_groups(user: User, agent: str) -> dict[str, list[dict[str, Any]]]:
    hooks = user.reads(OLD_HOOKS[agent][0])["hooks"]
    ours = {
        event: [
            group
            for group in groups
            if f"hook {agent}" in (text := json.dumps(group)) or f"hook.py {agent}" in text
        ]
        for event, groups in hooks.items()
    }
    return {event: groups for event, groups in ours.items() if groups}


def fresh_groups(user: User, agent: str) -> dict[str, list[dict[str, Any]]]:
    """What an install on a new machine writes."""
    user.runs("install", "--agent", agent, "--yes", *SERVER)
    groups = our_groups(user, agent)
    user.runs("uninstall", "--yes")
    return groups


@pytest.mark.parametrize("with_record", [True, False], ids=["with a record", "without a record"])
@pytest.mark.parametrize("program", [PROGRAM, MOVED_PROGRAM], ids=["same program", "moved program"])
@pytest.mark.parametrize("agent", OLD_HOOKS)
def test_install_replaces_the_hooks_of_an_older_version(
    user: User, agent: str, program: str, with_record: bool
):
    expected = fresh_groups(user, agent)
    has_old_hooks(user, agent, program, with_record=with_record)
    user.runs("install", "--agent", agent, "--yes", *SERVER)
    assert our_groups(user, agent) == expected
    assert user.runs("install", "--agent", agent, "--yes", *SERVER) == "Nothing to change.\n"
    user.runs("uninstall", "--yes")
    assert user.reads(OLD_HOOKS[agent][0])["hooks"] == {"Notification": [THEIRS]}


def test_install_replaces_our_hook_and_keeps_the_one_that_its_user_put_beside_it(user: User):
    expected = fresh_groups(user, "claude")
    has_old_hooks(user, "claude", PROGRAM, with_record=True)
    path = user.home / ".claude/settings.json"
    settings = json.loads(path.read_bytes())
    settings["hooks"]["PreToolUse"][0]["hooks"].append({"type": "command", "command": "mine"})
    path.write_text(json.dumps(settings))
    user.runs("install", "--agent", "claude", "--yes", *SERVER)
    assert our_groups(user, "claude")["PreToolUse"] == expected["PreToolUse"]
    user.runs("uninstall", "--yes")
    assert user.reads(".claude/settings.json")["hooks"]["PreToolUse"] == [
        {
            "matcher": "Write|Edit|MultiEdit|NotebookEdit",
            "hooks": [{"type": "command", "command": "mine"}],
        }
    ]


def test_install_leaves_one_hook_of_several_for_the_same_event(user: User):
    expected = fresh_groups(user, "claude")
    user.runs("install", "--agent", "claude", "--yes", *SERVER)
    path = user.home / ".claude/settings.json"
    settings = json.loads(path.read_bytes())
    settings["hooks"]["PreToolUse"].append(old_group("claude", MOVED_PROGRAM, "Write|Edit", 10))
    path.write_text(json.dumps(settings))
    user.runs("install", "--agent", "claude", "--yes", *SERVER)
    assert our_groups(user, "claude") == expected


@pytest.mark.parametrize("agent", OLD_HOOKS)
def test_uninstall_removes_hooks_that_no_record_names(user: User, agent: str):
    has_old_hooks(user, agent, MOVED_PROGRAM, with_record=False)
    user.runs("uninstall", "--yes")
    assert user.reads(OLD_HOOKS[agent][0])["hooks"] == {"Notification": [THEIRS]}


def test_uninstall_does_not_bring_back_an_older_plugin_of_ours(user: User):
    path = user.home / ".config/opencode/plugins/commonplace.js"
    old_plugin = b'const PROGRAM = ["/opt/bin/commonplace", "hook", "opencode"]\n'
    user.has({".config/opencode/plugins/commonplace.js": old_plugin})
    user.runs("install", "--agent", "opencode", "--yes", *SERVER)
    assert path.read_bytes() != old_plugin
    user.runs("uninstall", "--yes")
    assert not path.exists()
