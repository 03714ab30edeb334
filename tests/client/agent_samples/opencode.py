"""opencode: settings as its users have them, what connect and install write, and what its hooks send."""

from typing import Any

from agent_samples.server import BEARER, MCP, bearer

SETTINGS = {
    ".config/opencode/opencode.jsonc": b"""{
  "$schema": "https://opencode.ai/config.json",
  "mcp": {
    "jira": {
      "type": "remote",
      "url": "https://jira.example.com/mcp", // ours
      "enabled": true
    } // last
  },
  "plugin": ["opencode-wakatime"]
}
""",
    ".config/opencode/plugins/mine.js": b"export const Mine = async () => ({})\n",
}

CONNECTION = (
    ".config/opencode/opencode.json",
    ("mcp",),
    {"type": "remote", "url": MCP, "enabled": True, "headers": BEARER},
)
PROJECT_CONNECTION = (
    "opencode.json",
    ("mcp",),
    {"type": "remote", "url": MCP, "enabled": True, "headers": bearer("{env:COMMONPLACE_KEY}")},
)
HOOKS = None

EVENTS = {
        "session_start": "session.created", "before_edit": "tool.execute.before",
        "after_edit": "tool.execute.after", "prompt": "chat.message", "stop": "session.idle",
        "before_compact": "experimental.session.compacting", "session_end": "session.deleted",
    }  # fmt: skip
DENIAL = (0, {})


def build_payload(agent: Any, name: str, files: tuple[str, ...]) -> dict[str, Any]:
    tool = {"tool_name": "edit", "tool_input": {"filePath": files[0]}} if files else {}
    return agent.known | {"hook_event_name": name} | tool


def build_command(agent: Any, line: str) -> dict[str, Any]:
    return build_payload(agent, "tool.execute.before", ()) | {
        "tool_name": "bash",
        "tool_input": {"command": line},
    }
