"""Gemini CLI: settings as its users have them, what connect and install write, and what its hooks send."""

from typing import Any

from agent_samples.server import BEARER, MCP, bearer

SETTINGS = {
    ".gemini/settings.json": b"""// settings of Gemini
{
\t"ui": { "theme": "GitHub" }, // light
\t"mcpServers": {
\t\t/* the only one */
\t\t"files": { "command": "files", "trust": true, },
\t},
\t"hooks": {
\t\t"BeforeTool": [ { "matcher": "run_shell_command", "hooks": [ { "type": "command", "command": "guard", "timeout": 500 } ] }, ],
\t},
}
""",
}

CONNECTION = (".gemini/settings.json", ("mcpServers",), {"httpUrl": MCP, "headers": BEARER})
PROJECT_CONNECTION = (
    ".gemini/settings.json",
    ("mcpServers",),
    {"httpUrl": MCP, "headers": bearer("$COMMONPLACE_KEY")},
)
HOOKS = (
    ".gemini/settings.json",
    {
        "SessionStart",
        "BeforeAgent",
        "BeforeTool",
        "AfterTool",
        "AfterAgent",
        "SessionEnd",
        "Notification",
    },
)

EVENTS = {
        "session_start": "SessionStart", "before_edit": "BeforeTool", "after_edit": "AfterTool",
        "prompt": "BeforeAgent", "stop": "AfterAgent", "session_end": "SessionEnd",
    }  # fmt: skip
DENIAL = (0, {"decision": "deny"})


def build_payload(agent: Any, name: str, files: tuple[str, ...]) -> dict[str, Any]:
    tool = {"tool_name": "replace", "tool_input": {"file_path": files[0], "old_string": "a"}} if files else {}
    return (
        agent.known
        | {"hook_event_name": name, "timestamp": "2026-08-21T10:00:00Z", "source": "startup"}
        | tool
    )


def build_command(agent: Any, line: str) -> dict[str, Any]:
    tool = {"tool_name": "run_shell_command", "tool_input": {"command": line}}
    return build_payload(agent, "BeforeTool", ()) | tool
