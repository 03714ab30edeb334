"""opencode's settings, and the plugin that runs our hooks."""

import json
from pathlib import Path
from typing import Any

from commonplace.client.install import jsonc
from commonplace.client.install.agent_settings import (
    ENTRY,
    KEY_VARIABLE,
    AgentSettings,
    Scope,
    add_headers,
    authorization_header,
)
from commonplace.client.install.machine import Machine
from commonplace.client.install.setting_edits import PutValue, SettingEdit, WriteFile
from commonplace.client.link.remote import RemoteServer

_EVENTS = (
    "session.created",
    "session.compacted",
    "session.deleted",
    "session.idle",
    "chat.message",
    "tool.execute.before",
    "tool.execute.after",
    "experimental.session.compacting",
    "permission.asked",
    "permission.replied",
    "question.asked",
    "question.replied",
    "question.rejected",
)


def _opencode_folder(machine: Machine) -> Path:
    return machine.config_folder / "opencode"


def _is_installed(machine: Machine) -> bool:
    return _opencode_folder(machine).is_dir() or machine.has_program("opencode")


def _connection_edits(machine: Machine, server: RemoteServer, scope: Scope) -> list[SettingEdit]:
    path = _settings_path(machine.project_folder if scope == "project" else _opencode_folder(machine))
    headers = authorization_header(server, scope, f"{{env:{KEY_VARIABLE}}}")
    entry: dict[str, Any] = {"type": "remote", "url": server.mcp_url}
    if _has_nested_servers(path):
        return [PutValue(path, ("mcp", "servers", ENTRY), add_headers(entry, headers))]
    return [PutValue(path, ("mcp", ENTRY), add_headers(entry | {"enabled": True}, headers))]


def _settings_path(folder: Path) -> Path:
    with_comments = folder / "opencode.jsonc"
    return with_comments if with_comments.exists() else folder / "opencode.json"


def _has_nested_servers(path: Path) -> bool:
    """Whether the settings are of the second version, which keeps servers one level deeper."""
    try:
        servers = jsonc.parse(path.read_bytes()).to_python()["mcp"]["servers"]
    except (OSError, jsonc.NotJson, KeyError, TypeError):
        return False
    return isinstance(servers, dict) and "type" not in servers


def _hook_edits(machine: Machine, prompts: bool) -> list[SettingEdit]:
    words = [*machine.program, "hook", "opencode"]
    plugin = Path(__file__).with_name("plugin.js").read_text(encoding="utf-8")
    plugin = plugin.replace("__PROGRAM__", json.dumps(words)).replace("__PROMPTS__", json.dumps(prompts))
    return [WriteFile(_opencode_folder(machine) / "plugins" / "commonplace.js", plugin)]


SETTINGS = AgentSettings(
    _is_installed,
    _connection_edits,
    _hook_edits,
    _EVENTS,
)
