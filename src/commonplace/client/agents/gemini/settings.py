"""Gemini CLI's settings."""

from pathlib import Path

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

_EDITORS = "write_file|replace"
_EVENTS = (
    HookTrigger("SessionStart"),
    HookTrigger("BeforeTool", f"{_EDITORS}|run_shell_command|mcp_{ENTRY}_.*"),
    HookTrigger("AfterTool", f"{_EDITORS}|run_shell_command|write_todos"),
    HookTrigger("AfterAgent"),
    HookTrigger("Notification"),
    HookTrigger("SessionEnd"),
    HookTrigger("BeforeAgent"),  # the first event with context after a compaction, so always installed
)
_TIMEOUT_UNITS_PER_SECOND = 1000


def _settings_path(folder: Path) -> Path:
    return folder / ".gemini" / "settings.json"


def _is_installed(machine: Machine) -> bool:
    return (machine.home / ".gemini").is_dir() or machine.has_program("gemini")


def _connection_edits(machine: Machine, server: RemoteServer, scope: Scope) -> list[SettingEdit]:
    path = _settings_path(machine.project_folder if scope == "project" else machine.home)
    headers = authorization_header(server, scope, f"${KEY_VARIABLE}")
    return [PutValue(path, ("mcpServers", ENTRY), add_headers({"httpUrl": server.mcp_url}, headers))]


def _hook_edits(machine: Machine, _prompts: bool) -> list[SettingEdit]:
    handler = {"name": ENTRY, "command": machine.hook_command("gemini")}
    return hook_group_edits(_settings_path(machine.home), _EVENTS, handler, _TIMEOUT_UNITS_PER_SECOND)


SETTINGS = AgentSettings(
    _is_installed,
    _connection_edits,
    _hook_edits,
    tuple(event.name for event in _EVENTS),
)
