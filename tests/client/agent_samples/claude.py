"""Claude Code: settings as its users have them, what connect and install write, and what its hooks send."""

from typing import Any

from agent_samples.server import BEARER, MCP, bearer

SETTINGS = {
    ".claude.json": b"""{
  "numStartups": 42,   "installMethod" : "native",
  "projects": {"/home/ann/shop": {"allowedTools": [], "mcpServers": {}, "history": [{"display": "h\\u00e9llo // no"}]}},
  "mcpServers": {
    "github": {"type": "stdio", "command": "npx", "args": ["-y", "server-github"], "env": {}}
  },
  "oauthAccount": {"emailAddress": "ann@example.com"}
}
""",
    ".claude/settings.json": b"""{
    "model" : "opus",
    "permissions": { "allow": [ "Bash(git diff:*)" ], "deny": [] },
    "hooks": {
        "PreToolUse": [
            { "matcher": "Bash", "hooks": [ { "type": "command", "command": "~/bin/check.sh" } ] }
        ],
        "Stop": [],
        "Notification": [{"hooks": [{"type": "command", "command": "notify-send done"}]}]
    }
}""",
}

CONNECTION = (".claude.json", ("mcpServers",), {"type": "http", "url": MCP, "headers": BEARER})
PROJECT_CONNECTION = (
    ".mcp.json",
    ("mcpServers",),
    {"type": "http", "url": MCP, "headers": bearer("${COMMONPLACE_KEY}")},
)
HOOKS = (
    ".claude/settings.json",
    {
        "SessionStart",
        "PreToolUse",
        "PostToolUseFailure",
        "UserPromptSubmit",
        "PostToolUse",
        "PreCompact",
        "Stop",
        "SubagentStart",
        "SubagentStop",
        "SessionEnd",
        "PermissionRequest",
        "Notification",
    },
)

EVENTS = {
    "session_start": "SessionStart", "before_edit": "PreToolUse", "after_edit": "PostToolUse",
    "prompt": "UserPromptSubmit", "stop": "Stop", "before_compact": "PreCompact", "session_end": "SessionEnd",
}  # fmt: skip
DENIAL = (0, {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}})


def build_payload(agent: Any, name: str, files: tuple[str, ...]) -> dict[str, Any]:
    tool = (
        {"tool_name": "Edit", "tool_use_id": "toolu_1", "tool_input": {"file_path": files[0]}}
        if files
        else {}
    )
    return agent.known | {"hook_event_name": name, "permission_mode": "default", "source": "startup"} | tool


def build_command(agent: Any, line: str) -> dict[str, Any]:
    tool = {
        "tool_name": "Bash",
        "tool_use_id": "toolu_1",
        "tool_input": {"command": line, "description": "d"},
    }
    return build_payload(agent, "PreToolUse", ()) | tool
