"""VS Code: settings as its users have them, what connect and install write, and what its hooks send."""

from typing import Any

from agent_samples import claude
from agent_samples.server import BEARER, MCP, bearer

SETTINGS = {
    ".config/Code/User/mcp.json": b"""{
    // servers of every workspace
    "inputs": [
        { "type": "promptString", "id": "token", "description": "t", "password": true },
    ],
    "servers": {
        "web": { "type": "http", "url": "https://example.com/mcp" }, // remote
    },
}
""",
    ".copilot/hooks/other.json": b'{"hooks": {"Stop": [{"type": "command", "command": "true"}]}}\n',
}

CONNECTION = (".config/Code/User/mcp.json", ("servers",), {"type": "http", "url": MCP, "headers": BEARER})
PROJECT_CONNECTION = (
    ".vscode/mcp.json",
    ("servers",),
    {"type": "http", "url": MCP, "headers": bearer("${input:commonplace-key}")},
)
HOOKS = (
    ".copilot/hooks/commonplace.json",
    {"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PreCompact", "Stop"},
)

EVENTS = {name: event for name, event in claude.EVENTS.items() if name != "session_end"}
DENIAL = claude.DENIAL


def build_payload(agent: Any, name: str, files: tuple[str, ...]) -> dict[str, Any]:
    tool = {"tool_name": "replace_string_in_file", "tool_input": {"filePath": files[0]}} if files else {}
    return (
        agent.known | {"hook_event_name": name, "timestamp": "2026-08-21T10:00:00Z", "source": "new"} | tool
    )


def build_command(agent: Any, line: str) -> dict[str, Any]:
    tool = {"tool_name": "run_in_terminal", "tool_input": {"command": line}}
    return build_payload(agent, "PreToolUse", ()) | tool
