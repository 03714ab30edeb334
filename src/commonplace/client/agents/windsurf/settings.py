"""Windsurf's settings."""

from pathlib import Path

from commonplace.client.install.agent_settings import (
    ENTRY,
    AgentSettings,
    Scope,
    add_headers,
    authorization_header,
)
from commonplace.client.install.machine import Machine
from commonplace.client.install.setting_edits import AppendElement, PutValue, SettingEdit
from commonplace.client.link.remote import RemoteServer

_EVENTS = ("pre_write_code", "post_write_code", "pre_run_command", "post_cascade_response_with_transcript")
_PROMPT_EVENT = "pre_user_prompt"


def _windsurf_folder(machine: Machine) -> Path:
    return machine.home / ".codeium" / "windsurf"


def _is_installed(machine: Machine) -> bool:
    return _windsurf_folder(machine).is_dir() or machine.has_program("windsurf")


def _connection_edits(machine: Machine, server: RemoteServer, scope: Scope) -> list[SettingEdit]:
    entry = add_headers({"serverUrl": server.mcp_url}, authorization_header(server, scope, ""))
    return [PutValue(_windsurf_folder(machine) / "mcp_config.json", ("mcpServers", ENTRY), entry)]


def _hook_edits(machine: Machine, prompts: bool) -> list[SettingEdit]:
    command = machine.hook_command("windsurf")
    run = {"command": command} | ({"powershell": f"& {command}"} if machine.is_windows else {})
    events = (*_EVENTS, _PROMPT_EVENT) if prompts else _EVENTS
    return [
        AppendElement(_windsurf_folder(machine) / "hooks.json", ("hooks", event), run) for event in events
    ]


SETTINGS = AgentSettings(
    _is_installed,
    _connection_edits,
    _hook_edits,
    _EVENTS,
    has_project_scope=False,
)
