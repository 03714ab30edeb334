"""VS Code's settings."""

import json
from pathlib import Path
from typing import Any

from commonplace.client.install.agent_settings import (
    ENTRY,
    AgentSettings,
    HookEvent,
    Scope,
    add_headers,
    authorization_header,
)
from commonplace.client.install.machine import Machine
from commonplace.client.install.wishes import Append, Put, Whole, Wish
from commonplace.client.remote import RemoteServer

_EVENTS = (
    HookEvent("SessionStart"),
    HookEvent("UserPromptSubmit"),  # the first that is heard after a compaction, with or without learnings
    HookEvent("PreToolUse"),
    HookEvent("PostToolUse"),
    HookEvent("PreCompact"),
    HookEvent("Stop"),
)
_INPUT = "commonplace-key"
_ASKED = {"type": "promptString", "id": _INPUT, "description": "Key of Commonplace", "password": True}


def _user(machine: Machine) -> Path:
    return machine.roaming / "Code" / "User"


def _is_installed(machine: Machine) -> bool:
    return _user(machine).is_dir() or (machine.home / ".copilot").is_dir() or machine.has("code")


def _connection_edits(machine: Machine, server: RemoteServer, scope: Scope) -> list[Wish]:
    path = machine.folder / ".vscode" / "mcp.json" if scope == "project" else _user(machine) / "mcp.json"
    headers = authorization_header(server, scope, f"${{input:{_INPUT}}}")
    entry = add_headers({"type": "http", "url": f"{server.url}/mcp"}, headers)
    asked = [Append(path, ("inputs",), _ASKED)] if headers and scope == "project" else []
    return [Put(path, ("servers", ENTRY), entry), *asked]


def _hook_edits(machine: Machine, _prompts: bool) -> list[Wish]:
    path = machine.at("COPILOT_HOME", machine.home / ".copilot") / "hooks" / "commonplace.json"
    runs: dict[str, Any] = {
        event.name: [
            {"type": "command", "command": machine.hook_command("vscode"), "timeout": event.timeout_seconds}
        ]
        for event in _EVENTS
    }
    return [Whole(path, json.dumps({"hooks": runs}, indent=2) + "\n")]


SETTINGS = AgentSettings(
    _is_installed,
    _connection_edits,
    _hook_edits,
    tuple(event.name for event in _EVENTS),
)
