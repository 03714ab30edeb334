"""Claude Code."""

from pathlib import Path

from commonplace.client.install.agent import (
    ENTRY,
    KEY_VARIABLE,
    Agent,
    On,
    Scope,
    bearer,
    groups,
    with_headers,
)
from commonplace.client.install.machine import Machine
from commonplace.client.install.wishes import Put, Wish
from commonplace.client.reach import Server

_EDITORS = "Write|Edit|MultiEdit|NotebookEdit"
# A session that ends waits no longer than its hooks ask for.
_EVENTS = (
    On("SessionStart"),
    On("PreToolUse", _EDITORS),
    On("PostToolUse", _EDITORS),
    On("PreCompact"),
    On("Stop"),
    On("SessionEnd", seconds=5),
)
_PROMPT = On("UserPromptSubmit")


def _folder(machine: Machine) -> Path:
    return machine.at("CLAUDE_CONFIG_DIR", machine.home / ".claude")


def _found(machine: Machine) -> bool:
    return _folder(machine).is_dir() or _servers(machine).exists() or machine.has("claude")


def _servers(machine: Machine) -> Path:
    return machine.at("CLAUDE_CONFIG_DIR", machine.home) / ".claude.json"


def _connection(machine: Machine, server: Server, scope: Scope) -> list[Wish]:
    path = machine.folder / ".mcp.json" if scope == "project" else _servers(machine)
    entry = {"type": "http", "url": f"{server.url}/mcp"}
    headers = bearer(server, scope, f"${{{KEY_VARIABLE}}}")
    return [Put(path, ("mcpServers", ENTRY), with_headers(entry, headers))]


def _hooks(machine: Machine, prompts: bool) -> list[Wish]:
    events = (*_EVENTS, _PROMPT) if prompts else _EVENTS
    return groups(_folder(machine) / "settings.json", events, {"command": machine.hook("claude")})


AGENT = Agent("claude", "Claude Code", _found, _connection, _hooks)
