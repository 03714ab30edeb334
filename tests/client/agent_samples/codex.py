"""Codex: settings as its users have them, what connect and install write, and what its hooks send."""

from typing import Any

from agent_samples import claude
from agent_samples.server import BEARER, MCP

SETTINGS = {
    ".codex/config.toml": b"""# my codex
model = "gpt-5"   # the large one
approval_policy = "on-request"
notify = [
  "python3", "/home/ann/notify.py",  # old way
]

[projects."/home/ann/shop"]
trust_level = "trusted"

[mcp_servers.docs]
command = "docs"
args = ["--fast"]
  [mcp_servers.docs.env]
  TOKEN = 'x'

[tui]
theme = "dark\"""",
    ".codex/hooks.json": b"""{ "hooks": { "SessionStart": [ { "matcher": "startup", "hooks": [ { "type": "command", "command": "date" } ] } ] } }
""",
}

CONNECTION = (".codex/config.toml", ("mcp_servers",), {"url": MCP, "http_headers": BEARER})
PROJECT_CONNECTION = (
    ".codex/config.toml",
    ("mcp_servers",),
    {"url": MCP, "bearer_token_env_var": "COMMONPLACE_KEY"},
)
HOOKS = (
    ".codex/hooks.json",
    {
        "SessionStart",
        "PreToolUse",
        "UserPromptSubmit",
        "PostToolUse",
        "PreCompact",
        "Stop",
        "SubagentStart",
        "SubagentStop",
        "SessionEnd",
        "PermissionRequest",
    },
)

EVENTS = claude.EVENTS
DENIAL = claude.DENIAL


def build_payload(agent: Any, name: str, files: tuple[str, ...]) -> dict[str, Any]:
    changes = "".join(f"*** Update File: {file}\n@@\n-a\n+b\n" for file in files)
    patch = f"*** Begin Patch\n{changes}*** End Patch\n"
    tool = {"tool_name": "apply_patch", "tool_input": {"command": patch}, "turn_id": "1"} if files else {}
    return agent.known | {"hook_event_name": name, "model": "gpt-5", "source": "startup"} | tool


def build_command(agent: Any, line: str) -> dict[str, Any]:
    tool = {"tool_name": "Bash", "tool_input": {"command": line}, "turn_id": "1"}
    return build_payload(agent, "PreToolUse", ()) | tool
