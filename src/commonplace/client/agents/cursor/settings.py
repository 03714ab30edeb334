"""Cursor's settings."""

from pathlib import Path

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
from commonplace.client.install.setting_edits import AppendElement, EnsureValue, PutValue, SettingEdit
from commonplace.client.link.remote import RemoteServer

_EVENTS = (
    HookTrigger("sessionStart"),
    HookTrigger("preToolUse", "Write"),
    HookTrigger("afterFileEdit"),
    HookTrigger("beforeShellExecution"),
    HookTrigger("preCompact"),
    HookTrigger("stop"),
    HookTrigger("sessionEnd"),
)
_PROMPT_EVENT = HookTrigger("beforeSubmitPrompt")


def _cursor_folder(root: Path) -> Path:
    return root / ".cursor"


def _is_installed(machine: Machine) -> bool:
    return _cursor_folder(machine.home).is_dir() or machine.has_program("cursor", "cursor-agent")


def _connection_edits(machine: Machine, server: RemoteServer, scope: Scope) -> list[SettingEdit]:
    folder = _cursor_folder(machine.project_folder if scope == "project" else machine.home)
    headers = authorization_header(server, scope, f"${{env:{KEY_VARIABLE}}}")
    entry = add_headers({"url": server.mcp_url}, headers)
    return [PutValue(folder / "mcp.json", ("mcpServers", ENTRY), entry)]


def _hook_edits(machine: Machine, prompts: bool) -> list[SettingEdit]:
    path, command = _cursor_folder(machine.home) / "hooks.json", machine.hook_command("cursor")
    edits: list[SettingEdit] = [EnsureValue(path, ("version",), 1)]
    for event in (*_EVENTS, _PROMPT_EVENT) if prompts else _EVENTS:
        matcher = {"matcher": event.matcher} if event.matcher else {}
        edits.append(
            AppendElement(
                path,
                ("hooks", event.name),
                {"command": command} | matcher | {"timeout": event.timeout_seconds},
            )
        )
    return edits


SETTINGS = AgentSettings(
    _is_installed,
    _connection_edits,
    _hook_edits,
    tuple(event.name for event in _EVENTS),
)
