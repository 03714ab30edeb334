"""Codex."""

from pathlib import Path
from typing import Any

from commonplace.client.install.agent import ENTRY, KEY_VARIABLE, Agent, On, Scope, bearer, groups
from commonplace.client.install.machine import Machine
from commonplace.client.install.wishes import Put, Wish
from commonplace.client.reach import Server

# Codex gives a session's end three seconds at most.
_EVENTS = (
    On("SessionStart"),
    On("PreToolUse", "apply_patch"),
    On("PostToolUse", "apply_patch"),
    On("PreCompact"),
    On("Stop"),
    On("SessionEnd", seconds=3),
)
_PROMPT = On("UserPromptSubmit")
_NOTE = (
    "Codex runs a hook only after you trusted it: start codex, open /hooks and trust those of commonplace."
)


def _folder(machine: Machine) -> Path:
    return machine.at("CODEX_HOME", machine.home / ".codex")


def _found(machine: Machine) -> bool:
    return _folder(machine).is_dir() or machine.has("codex")


def _connection(machine: Machine, server: Server, scope: Scope) -> list[Wish]:
    folder = machine.folder / ".codex" if scope == "project" else _folder(machine)
    entry: dict[str, Any] = {"url": f"{server.url}/mcp"}
    if server.key and scope == "project":
        entry["bearer_token_env_var"] = KEY_VARIABLE
    elif server.key:
        entry["http_headers"] = bearer(server, scope, "")
    return [Put(folder / "config.toml", ("mcp_servers", ENTRY), entry)]


def _hooks(machine: Machine, prompts: bool) -> list[Wish]:
    events = (*_EVENTS, _PROMPT) if prompts else _EVENTS
    return groups(_folder(machine) / "hooks.json", events, {"command": machine.hook("codex")})


AGENT = Agent("codex", "Codex", _found, _connection, _hooks, note=_NOTE)
