"""VS Code with Copilot. Its hooks are a file of ours in the folder that it reads."""

import json
from pathlib import Path
from typing import Any

from commonplace.client.install.agent import ENTRY, Agent, On, Scope, bearer, with_headers
from commonplace.client.install.machine import Machine
from commonplace.client.install.wishes import Append, Put, Whole, Wish
from commonplace.client.reach import Server

_EVENTS = (
    On("SessionStart"),
    On("UserPromptSubmit"),  # the first that is heard after a compaction, with or without learnings
    On("PreToolUse"),
    On("PostToolUse"),
    On("PreCompact"),
    On("Stop"),
)
_INPUT = "commonplace-key"
_ASKED = {"type": "promptString", "id": _INPUT, "description": "Key of Commonplace", "password": True}


def _user(machine: Machine) -> Path:
    return machine.roaming / "Code" / "User"


def _found(machine: Machine) -> bool:
    return _user(machine).is_dir() or (machine.home / ".copilot").is_dir() or machine.has("code")


def _connection(machine: Machine, server: Server, scope: Scope) -> list[Wish]:
    path = machine.folder / ".vscode" / "mcp.json" if scope == "project" else _user(machine) / "mcp.json"
    headers = bearer(server, scope, f"${{input:{_INPUT}}}")
    entry = with_headers({"type": "http", "url": f"{server.url}/mcp"}, headers)
    asked = [Append(path, ("inputs",), _ASKED)] if headers and scope == "project" else []
    return [Put(path, ("servers", ENTRY), entry), *asked]


def _hooks(machine: Machine, _prompts: bool) -> list[Wish]:
    path = machine.at("COPILOT_HOME", machine.home / ".copilot") / "hooks" / "commonplace.json"
    runs: dict[str, Any] = {
        event.name: [{"type": "command", "command": machine.hook("vscode"), "timeout": event.seconds}]
        for event in _EVENTS
    }
    return [Whole(path, json.dumps({"hooks": runs}, indent=2) + "\n")]


AGENT = Agent("vscode", "VS Code", _found, _connection, _hooks)
