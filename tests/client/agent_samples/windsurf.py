"""Windsurf: settings as its users have them, what connect and install write, and what its hooks send."""

from typing import Any

from agent_samples.server import BEARER, BYTE_ORDER_MARK, MCP

SETTINGS = {
    ".codeium/windsurf/mcp_config.json": BYTE_ORDER_MARK + b'{\n  "mcpServers": {\n  }\n}\n',
    ".codeium/windsurf/hooks.json": b"""{
  "hooks": {
    "pre_run_command": [ { "command": "bash check.sh", "show_output": true } ],
    "post_write_code": [ { "command": "bash lint.sh" } ]
  }
}
""",
}

CONNECTION = (
    ".codeium/windsurf/mcp_config.json",
    ("mcpServers",),
    {"serverUrl": MCP, "headers": BEARER},
)
PROJECT_CONNECTION = None
HOOKS = (
    ".codeium/windsurf/hooks.json",
    {"pre_write_code", "post_write_code", "pre_run_command", "post_cascade_response_with_transcript"},
)

EVENTS = {
        "before_edit": "pre_write_code", "after_edit": "post_write_code", "prompt": "pre_user_prompt",
        "stop": "post_cascade_response",
    }  # fmt: skip
DENIAL = (2, {})


def build_payload(agent: Any, name: str, files: tuple[str, ...]) -> dict[str, Any]:
    tool_info = {"file_path": files[0], "edits": [{"old_string": "a", "new_string": "b"}]} if files else {}
    return {
        "agent_action_name": name,
        "trajectory_id": agent.session,
        "execution_id": "e",
        "tool_info": tool_info,
    }


def build_command(agent: Any, line: str) -> dict[str, Any]:
    sent = build_payload(agent, "pre_run_command", ())
    return sent | {"tool_info": {"command_line": line, "cwd": str(agent.cwd)}}
