"""Codex's settings."""

from pathlib import Path
from typing import Any

from commonplace.client.install.agent_settings import (
    ENTRY,
    KEY_VARIABLE,
    AgentSettings,
    HookTrigger,
    Scope,
    authorization_header,
    hook_group_edits,
)
from commonplace.client.install.machine import Machine
from commonplace.client.install.setting_edits import PutValue, SettingEdit
from commonplace.client.link.remote import RemoteServer

# Codex waits at most three seconds for the hooks at the end of a session.
_EVENTS = (
    HookTrigger("SessionStart"),
    HookTrigger("PreToolUse", f"apply_patch|Bash|mcp__{ENTRY}__memory_start_session"),
    HookTrigger("UserPromptSubmit"),
    HookTrigger("PostToolUse", "apply_patch|Bash|update_plan"),
    HookTrigger("PreCompact"),
    HookTrigger("Stop"),
    HookTrigger("SubagentStart"),
    HookTrigger("SubagentStop"),
    HookTrigger("PermissionRequest", timeout_seconds=60),
    HookTrigger("SessionEnd", timeout_seconds=3),
)
_NOTE = "Codex runs a hook only after you have trusted it: start codex, open /hooks and trust those of commonplace."


def _codex_folder(machine: Machine) -> Path:
    return machine.environment_folder("CODEX_HOME", machine.home / ".codex")


def _is_installed(machine: Machine) -> bool:
    return _codex_folder(machine).is_dir() or machine.has_program("codex")


def _connection_edits(machine: Machine, server: RemoteServer, scope: Scope) -> list[SettingEdit]:
    folder = machine.project_folder / ".codex" if scope == "project" else _codex_folder(machine)
    entry: dict[str, Any] = {"url": server.mcp_url}
    if server.key and scope == "project":
        entry["bearer_token_env_var"] = KEY_VARIABLE
    elif server.key:
        entry["http_headers"] = authorization_header(server, scope, "")
    return [PutValue(folder / "config.toml", ("mcp_servers", ENTRY), entry)]


def _hook_edits(machine: Machine, _prompts: bool) -> list[SettingEdit]:
    return hook_group_edits(
        _codex_folder(machine) / "hooks.json", _EVENTS, {"command": machine.hook_command("codex")}
    )


SETTINGS = AgentSettings(
    _is_installed,
    _connection_edits,
    _hook_edits,
    tuple(event.name for event in _EVENTS),
    note=_NOTE,
)
