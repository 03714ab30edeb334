"""Claude Code's settings."""

from pathlib import Path

from commonplace.client.install import jsonc
from commonplace.client.install.agent_settings import (
    ENTRY,
    KEY_VARIABLE,
    AgentSettings,
    HookTrigger,
    Scope,
    add_headers,
    authorization_header,
    hook_group_edits,
)
from commonplace.client.install.machine import Machine
from commonplace.client.install.setting_edits import PutValue, SettingEdit
from commonplace.client.link.remote import RemoteServer

_EDITORS = "Write|Edit|MultiEdit|NotebookEdit"
# At the end of a session Claude waits for a hook only as long as its timeout.
_EVENTS = (
    HookTrigger("SessionStart"),
    HookTrigger("PreToolUse", f"{_EDITORS}|Bash|Monitor|ExitWorktree|mcp__{ENTRY}__.*"),
    HookTrigger("UserPromptSubmit"),
    HookTrigger(
        "PostToolUse", f"{_EDITORS}|Bash|TodoWrite|TaskCreate|TaskUpdate|AskUserQuestion|ExitPlanMode"
    ),
    HookTrigger("PostToolUseFailure", "Bash"),
    HookTrigger("PreCompact"),
    HookTrigger("Stop"),
    HookTrigger("SubagentStart"),
    HookTrigger("SubagentStop"),
    HookTrigger("PermissionRequest", timeout_seconds=3600),  # its dialog stays open beside the hook
    HookTrigger("Notification"),
    HookTrigger("SessionEnd", timeout_seconds=5),
)


def _claude_folder(machine: Machine) -> Path:
    return machine.environment_folder("CLAUDE_CONFIG_DIR", machine.home / ".claude")


def _is_installed(machine: Machine) -> bool:
    return (
        _claude_folder(machine).is_dir() or _servers_path(machine).exists() or machine.has_program("claude")
    )


def _servers_path(machine: Machine) -> Path:
    return machine.environment_folder("CLAUDE_CONFIG_DIR", machine.home) / ".claude.json"


def _connection_edits(machine: Machine, server: RemoteServer, scope: Scope) -> list[SettingEdit]:
    path = machine.project_folder / ".mcp.json" if scope == "project" else _servers_path(machine)
    entry = {"type": "http", "url": server.mcp_url}
    headers = authorization_header(server, scope, f"${{{KEY_VARIABLE}}}")
    return [PutValue(path, ("mcpServers", ENTRY), add_headers(entry, headers))]


def _hook_edits(machine: Machine, _prompts: bool) -> list[SettingEdit]:
    return hook_group_edits(
        _claude_folder(machine) / "settings.json", _EVENTS, {"command": machine.hook_command("claude")}
    )


def _status_line_edits(machine: Machine) -> list[SettingEdit]:
    """None where another status line is set."""
    line = {"type": "command", "command": machine.shell_command((*machine.program, "statusline"))}
    path = _claude_folder(machine) / "settings.json"
    try:
        known = jsonc.parse(path.read_bytes()).to_python().get("statusLine")
    except (OSError, jsonc.NotJson, AttributeError):
        known = None
    return [PutValue(path, ("statusLine",), line)] if known in (None, line) else []


SETTINGS = AgentSettings(
    _is_installed,
    _connection_edits,
    _hook_edits,
    tuple(event.name for event in _EVENTS),
    status_line_edits=_status_line_edits,
)
