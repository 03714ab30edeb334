"""Windsurf. It has no file for the servers of a project, and tells nobody that a session starts or ends."""

from pathlib import Path

from commonplace.client.install.agent import ENTRY, Agent, Scope, bearer, with_headers
from commonplace.client.install.machine import Machine
from commonplace.client.install.wishes import Append, Put, Wish
from commonplace.client.reach import Server

_EVENTS = ("pre_write_code", "post_write_code", "post_cascade_response_with_transcript")
_PROMPT = "pre_user_prompt"


def _folder(machine: Machine) -> Path:
    return machine.home / ".codeium" / "windsurf"


def _found(machine: Machine) -> bool:
    return _folder(machine).is_dir() or machine.has("windsurf")


def _connection(machine: Machine, server: Server, scope: Scope) -> list[Wish]:
    entry = with_headers({"serverUrl": f"{server.url}/mcp"}, bearer(server, scope, ""))
    return [Put(_folder(machine) / "mcp_config.json", ("mcpServers", ENTRY), entry)]


def _hooks(machine: Machine, prompts: bool) -> list[Wish]:
    command = machine.hook("windsurf")
    run = {"command": command} | ({"powershell": f"& {command}"} if machine.windows else {})
    events = (*_EVENTS, _PROMPT) if prompts else _EVENTS
    return [Append(_folder(machine) / "hooks.json", ("hooks", event), run) for event in events]


AGENT = Agent("windsurf", "Windsurf", _found, _connection, _hooks, projects=False)
