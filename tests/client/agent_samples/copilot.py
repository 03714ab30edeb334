"""Copilot CLI 1.0.102: settings as its users have them, what connect and install write, and what its hooks send."""

from pathlib import Path
from typing import Any

from agent_samples import EVENT_WORD
from agent_samples.server import BEARER, MCP, bearer

SETTINGS = {
    ".copilot/mcp-config.json": b"""{
  "mcpServers": {
    "context7": {
      "tools": [
        "*"
      ],
      "type": "local",
      "command": "npx",
      "args": [
        "-y",
        "@upstash/context7-mcp"
      ]
    }
  }
}""",
    ".copilot/hooks/lint.json": b'{"version":1,"hooks":{"postToolUse":[{"type":"command","bash":"true"}]}}\n',
    ".copilot/session-state/10c40d38-f932-4d65-905f-4e71341d3785/workspace.yaml": b"summary_count: 0\n",
}

CONNECTION = (
    ".copilot/mcp-config.json",
    ("mcpServers",),
    {"type": "http", "url": MCP, "tools": ["*"], "headers": BEARER},
)
PROJECT_CONNECTION = (
    ".github/mcp.json",
    ("mcpServers",),
    {"type": "http", "url": MCP, "tools": ["*"], "headers": bearer("${COMMONPLACE_KEY}")},
)
HOOKS = (
    ".copilot/hooks/commonplace-copilot.json",
    {
        "sessionStart", "userPromptSubmitted", "preToolUse", "postToolUse", "preMcpToolCall", "subagentStart",
        "subagentStop", "preCompact", "agentStop", "sessionEnd", "notification",
    },
)  # fmt: skip

EVENTS = {
        "session_start": "sessionStart", "before_edit": "preToolUse", "after_edit": "postToolUse",
        "prompt": "userPromptSubmitted", "stop": "agentStop", "session_end": "sessionEnd",
    }  # fmt: skip
DENIAL = (0, {"permissionDecision": "deny"})

_MORE = {
    "sessionStart": {"source": "new", "initialPrompt": "add it"},
    "userPromptSubmitted": {"prompt": "add it"},
    "sessionEnd": {"reason": "complete"},
}


def build_payload(agent: Any, name: str, files: tuple[str, ...]) -> dict[str, Any]:
    sent = {"sessionId": agent.session, "timestamp": 1794848837055, "cwd": str(agent.cwd)}
    if files:
        sent |= {"toolName": "edit", "toolArgs": {"path": files[0], "old_str": "x = 1", "new_str": "x = 2"}}
    if files and name == "postToolUse":
        text = f"File {files[0]} updated with changes."
        sent["toolResult"] = {"resultType": "success", "textResultForLlm": text}
    if name == "agentStop":
        sent |= {"stopReason": "end_turn", "stop_hook_active": False}
        sent |= {"transcriptPath": agent.transcript} if agent.transcript else {}
    return sent | _MORE.get(name, {}) | {EVENT_WORD: name}


def subagent_fields(subagent: str, parent: str) -> dict[str, Any]:
    """What the hooks of a sub-agent send otherwise."""
    return {"sessionId": subagent, "agentId": subagent, "agentType": "task", "parentAgentId": parent}


def session_folder(copilot_home: Path, session: str) -> Path:
    return copilot_home / "session-state" / session


def build_command(agent: Any, line: str) -> dict[str, Any]:
    return build_payload(agent, "preToolUse", ()) | {"toolName": "bash", "toolArgs": {"command": line}}
