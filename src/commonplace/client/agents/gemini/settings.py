"""Gemini CLI. Its settings hold servers and hooks in one file, and its timeouts are milliseconds."""

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

_EDITORS = "write_file|replace"
_EVENTS = (
    On("SessionStart"),
    On("BeforeTool", _EDITORS),
    On("AfterTool", _EDITORS),
    On("PreCompress"),
    On("AfterAgent"),
    On("SessionEnd"),
    On("BeforeAgent"),  # the first that is heard after a compaction, with or without learnings
)
_MILLISECONDS = 1000


def _settings(folder: Path) -> Path:
    return folder / ".gemini" / "settings.json"


def _found(machine: Machine) -> bool:
    return (machine.home / ".gemini").is_dir() or machine.has("gemini")


def _connection(machine: Machine, server: Server, scope: Scope) -> list[Wish]:
    path = _settings(machine.folder if scope == "project" else machine.home)
    headers = bearer(server, scope, f"${KEY_VARIABLE}")
    return [Put(path, ("mcpServers", ENTRY), with_headers({"httpUrl": f"{server.url}/mcp"}, headers))]


def _hooks(machine: Machine, _prompts: bool) -> list[Wish]:
    handler = {"name": ENTRY, "command": machine.hook("gemini")}
    return groups(_settings(machine.home), _EVENTS, handler, _MILLISECONDS)


AGENT = Agent("gemini", "Gemini CLI", _found, _connection, _hooks)
