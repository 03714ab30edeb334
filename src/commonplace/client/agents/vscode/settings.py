"""VS Code's settings."""

import json
from pathlib import Path
from typing import Any

from commonplace.client.install.agent_settings import (
    ENTRY,
    AgentSettings,
    HookTrigger,
    Scope,
    add_headers,
    authorization_header,
)
from commonplace.client.install.machine import Machine
from commonplace.client.install.setting_edits import AppendElement, PutValue, SettingEdit, WriteFile
from commonplace.client.link.remote import RemoteServer

_EVENTS = (
    HookTrigger("SessionStart"),
    HookTrigger("UserPromptSubmit"),  # the first event with context after a compaction, so always installed
    HookTrigger("PreToolUse"),
    HookTrigger("PostToolUse"),
    HookTrigger("PreCompact"),
    HookTrigger("Stop"),
)
_KEY_INPUT_ID = "commonplace-key"
_KEY_INPUT = {
    "type": "promptString",
    "id": _KEY_INPUT_ID,
    "description": "Commonplace key",
    "password": True,
}


def _user_folder(machine: Machine) -> Path:
    return machine.app_settings_folder / "Code" / "User"


def _is_installed(machine: Machine) -> bool:
    return _user_folder(machine).is_dir() or machine.has_program("code")


def _connection_edits(machine: Machine, server: RemoteServer, scope: Scope) -> list[SettingEdit]:
    path = (
        machine.project_folder / ".vscode" / "mcp.json"
        if scope == "project"
        else _user_folder(machine) / "mcp.json"
    )
    headers = authorization_header(server, scope, f"${{input:{_KEY_INPUT_ID}}}")
    entry = add_headers({"type": "http", "url": server.mcp_url}, headers)
    input_edits = [AppendElement(path, ("inputs",), _KEY_INPUT)] if headers and scope == "project" else []
    return [PutValue(path, ("servers", ENTRY), entry), *input_edits]


def _hook_edits(machine: Machine, _prompts: bool) -> list[SettingEdit]:
    path = (
        machine.environment_folder("COPILOT_HOME", machine.home / ".copilot") / "hooks" / "commonplace.json"
    )
    hooks: dict[str, Any] = {
        event.name: [
            {"type": "command", "command": machine.hook_command("vscode"), "timeout": event.timeout_seconds}
        ]
        for event in _EVENTS
    }
    return [WriteFile(path, json.dumps({"hooks": hooks}, indent=2) + "\n")]


SETTINGS = AgentSettings(
    _is_installed,
    _connection_edits,
    _hook_edits,
    tuple(event.name for event in _EVENTS),
)
