"""Cursor. What it did after an edit can not be denied, so leases are checked before the tool runs."""

from pathlib import Path

from commonplace.client.install.agent import ENTRY, KEY_VARIABLE, Agent, On, Scope, bearer, with_headers
from commonplace.client.install.machine import Machine
from commonplace.client.install.wishes import Append, Ensure, Put, Wish
from commonplace.client.reach import Server

_EVENTS = (
    On("sessionStart"),
    On("preToolUse", "Write"),
    On("afterFileEdit"),
    On("preCompact"),
    On("stop"),
    On("sessionEnd"),
)
_PROMPT = On("beforeSubmitPrompt")


def _folder(root: Path) -> Path:
    return root / ".cursor"


def _found(machine: Machine) -> bool:
    return _folder(machine.home).is_dir() or machine.has("cursor", "cursor-agent")


def _connection(machine: Machine, server: Server, scope: Scope) -> list[Wish]:
    folder = _folder(machine.folder if scope == "project" else machine.home)
    headers = bearer(server, scope, f"${{env:{KEY_VARIABLE}}}")
    entry = with_headers({"url": f"{server.url}/mcp"}, headers)
    return [Put(folder / "mcp.json", ("mcpServers", ENTRY), entry)]


def _hooks(machine: Machine, prompts: bool) -> list[Wish]:
    path, command = _folder(machine.home) / "hooks.json", machine.hook("cursor")
    wishes: list[Wish] = [Ensure(path, ("version",), 1)]
    for event in (*_EVENTS, _PROMPT) if prompts else _EVENTS:
        matcher = {"matcher": event.matcher} if event.matcher else {}
        wishes.append(
            Append(path, ("hooks", event.name), {"command": command} | matcher | {"timeout": event.seconds})
        )
    return wishes


AGENT = Agent("cursor", "Cursor", _found, _connection, _hooks)
