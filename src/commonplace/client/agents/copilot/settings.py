"""Copilot CLI's settings."""

import json
from pathlib import Path
from typing import Any

from commonplace.client.companion.hook_settings import read_hook_settings
from commonplace.client.install.agent_settings import (
    ENTRY,
    KEY_VARIABLE,
    AgentSettings,
    HookTrigger,
    Scope,
    add_headers,
    authorization_header,
)
from commonplace.client.install.machine import Machine
from commonplace.client.install.setting_edits import PutValue, SettingEdit, WriteFile
from commonplace.client.link.remote import RemoteServer

_EDITORS = "create|edit|str_replace_editor|apply_patch"
_EVENTS = (
    HookTrigger("sessionStart"),
    HookTrigger(
        "userPromptSubmitted"
    ),  # the first event with context after a compaction, so always installed
    HookTrigger("preToolUse", f"{_EDITORS}|bash|powershell"),
    HookTrigger("postToolUse", f"{_EDITORS}|bash|powershell"),
    HookTrigger("preMcpToolCall"),
    HookTrigger("subagentStart"),
    HookTrigger("subagentStop"),
    HookTrigger("preCompact"),
    HookTrigger("agentStop"),
    HookTrigger("notification"),
    HookTrigger("sessionEnd"),
)
# It runs before every call, so it is only installed for those who want to answer from elsewhere.
_PERMISSION_EVENT = HookTrigger("permissionRequest", timeout_seconds=60)


def _copilot_folder(machine: Machine) -> Path:
    return machine.environment_folder("COPILOT_HOME", machine.home / ".copilot")


def _is_installed(machine: Machine) -> bool:
    return (_copilot_folder(machine) / "session-state").is_dir() or machine.has_program("copilot")


def _connection_edits(machine: Machine, server: RemoteServer, scope: Scope) -> list[SettingEdit]:
    """The project's file is not `.mcp.json`, where Claude Code's entry is."""
    path = (
        machine.project_folder / ".github" / "mcp.json"
        if scope == "project"
        else _copilot_folder(machine) / "mcp-config.json"
    )
    headers = authorization_header(server, scope, f"${{{KEY_VARIABLE}}}")
    entry = add_headers({"type": "http", "url": server.mcp_url, "tools": ["*"]}, headers)
    return [PutValue(path, ("mcpServers", ENTRY), entry)]


def _hook_edits(machine: Machine, _prompts: bool) -> list[SettingEdit]:
    events = (*_EVENTS, _PERMISSION_EVENT) if read_hook_settings().permission_seconds else _EVENTS
    hooks = {event.name: [_build_hook(machine, event)] for event in events}
    text = json.dumps({"version": 1, "hooks": hooks}, indent=2) + "\n"
    return [WriteFile(_copilot_folder(machine) / "hooks" / "commonplace-copilot.json", text)]


def _build_hook(machine: Machine, event: HookTrigger) -> dict[str, Any]:
    command = machine.hook_command("copilot", event.name)
    matcher = {"matcher": event.matcher} if event.matcher else {}
    # PowerShell takes a quoted path for a text unless it is called.
    shell = {"powershell": f"& {command}"} if machine.is_windows else {"bash": command}
    return {"type": "command"} | shell | matcher | {"timeoutSec": event.timeout_seconds}


SETTINGS = AgentSettings(
    _is_installed,
    _connection_edits,
    _hook_edits,
    tuple(event.name for event in _EVENTS),
)
