"""Cursor: settings as its users have them, what connect and install write, and what its hooks send."""

import json
from typing import Any

from agent_samples.server import BEARER, MCP, bearer

SETTINGS = {
    ".cursor/mcp.json": b'{"mcpServers": {"linear": {"url": "https://mcp.example.com/sse"}}}',
    ".cursor/hooks.json": b"""{
  "version": 1,
  "hooks": {
    "afterFileEdit": [{"command": "./format.sh"}],
    "stop": [
      {"command": "./log.sh", "timeout": 5}
    ]
  }
}

""",
}

CONNECTION = (".cursor/mcp.json", ("mcpServers",), {"url": MCP, "headers": BEARER})
PROJECT_CONNECTION = (
    ".cursor/mcp.json",
    ("mcpServers",),
    {"url": MCP, "headers": bearer("${env:COMMONPLACE_KEY}")},
)
HOOKS = (
    ".cursor/hooks.json",
    {
        "sessionStart",
        "preToolUse",
        "afterFileEdit",
        "beforeShellExecution",
        "preCompact",
        "stop",
        "sessionEnd",
    },
)

EVENTS = {
        "session_start": "sessionStart", "before_edit": "preToolUse", "after_edit": "afterFileEdit",
        "prompt": "beforeSubmitPrompt", "stop": "stop", "before_compact": "preCompact", "session_end": "sessionEnd",
    }  # fmt: skip
DENIAL = (0, {"permission": "deny"})


def build_payload(agent: Any, name: str, files: tuple[str, ...]) -> dict[str, Any]:
    sent = {
        "conversation_id": agent.session, "generation_id": "g", "hook_event_name": name, "model": "m",
        "workspace_roots": [str(agent.cwd)], "cursor_version": "2.4", "transcript_path": agent.known["transcript_path"],
    }  # fmt: skip
    if not files:
        return sent
    if name == "afterFileEdit":
        return sent | {"file_path": files[0], "edits": [{"old_string": "a", "new_string": "b"}]}
    return sent | {"tool_name": "Write", "tool_input": json.dumps({"file_path": files[0], "content": "b"})}


def build_command(agent: Any, line: str) -> dict[str, Any]:
    return build_payload(agent, "beforeShellExecution", ()) | {"command": line, "cwd": str(agent.cwd)}
