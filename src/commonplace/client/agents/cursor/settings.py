"""Cursor's settings."""

from pathlib import Path

from commonplace.client.install.agent_settings import (
    ENTRY,
    KEY_VARIABLE,
    AgentSettings,
    HookEvent,
    Scope,
    add_headers,
    authorization_header,
)
from commonplace.client.install.machine import Machine
from commonplace.client.install.wishes import Append, Ensure, Put, Wish
from commonplace.client.remote import RemoteServer

_EVENTS = (
    HookEvent("sessionStart"),
    HookEvent("preToolUse", "Write"),
    HookEvent("afterFileEdit"),
    HookEvent("preCompact"),
    HookEvent("stop"),
    HookEvent("sessionEnd"),
)
_PROMPT_EVENT = HookEvent("beforeSubmitPrompt")


def _folder(root: Path) -> Path:
    return root / ".cursor"


def _is_installed(machine: Machine) -> bool:
    return _folder(machine.home).is_dir() or machine.has("cursor", "cursor-agent")


def _connection_edits(machine: Machine, server: RemoteServer, scope: Scope) -> list[Wish]:
    folder = _folder(machine.folder if scope == "project" else machine.home)
    headers = authorization_header(server, scope, f"${{env:{KEY_VARIABLE}}}")
    entry = add_headers({"url": f"{server.url}/mcp"}, headers)
    return [Put(folder / "mcp.json", ("mcpServers", ENTRY), entry)]


def _hook_edits(machine: Machine, prompts: bool) -> list[Wish]:
    path, command = _folder(machine.home) / "hooks.json", machine.hook_command("cursor")
    wishes: list[Wish] = [Ensure(path, ("version",), 1)]
    for event in (*_EVENTS, _PROMPT_EVENT) if prompts else _EVENTS:
        matcher = {"matcher": event.matcher} if event.matcher else {}
        wishes.append(
            Append(
                path,
                ("hooks", event.name),
                {"command": command} | matcher | {"timeout": event.timeout_seconds},
            )
        )
    return wishes


SETTINGS = AgentSettings(
    _is_installed,
    _connection_edits,
    _hook_edits,
    tuple(event.name for event in _EVENTS),
)
