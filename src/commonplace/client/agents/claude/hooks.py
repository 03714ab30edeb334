"""Claude Code's hooks. Codex and VS Code use the same format."""

import os
from pathlib import Path

from commonplace.client.hooks import payload
from commonplace.client.hooks.agent_hooks import AgentHooks
from commonplace.client.hooks.hook_event import EventKind, HookAnswer, HookEvent, HookOutput

_EVENTS: dict[str, EventKind] = {
    "SessionStart": "session_start",
    "SessionEnd": "session_end",
    "UserPromptSubmit": "prompt",
    "PreToolUse": "before_edit",
    "PostToolUse": "after_edit",
    "PreCompact": "before_compact",
    "Stop": "stop",
    "SubagentStart": "subagent_start",
    "SubagentStop": "subagent_end",
}
_CONTEXT_KINDS: frozenset[EventKind] = frozenset(
    {"session_start", "prompt", "before_edit", "before_shell", "after_edit", "subagent_start"}
)
_WARNING_KINDS: frozenset[EventKind] = _CONTEXT_KINDS | {"stop"}

_OWN_TOOLS = "mcp__commonplace__"
EDITORS = {"Write", "Edit", "MultiEdit", "NotebookEdit"}
SHELLS = {"Bash"}


def _parse_event(fields: payload.Fields) -> HookEvent | None:
    return parse_own_call(fields) or payload.parse_event(fields, _EVENTS, EDITORS, SHELLS)


def parse_own_call(fields: payload.Fields) -> HookEvent | None:
    """A call of one of our tools that does not say which session it is of; Claude sends its id with the call."""
    name, tool = (payload.first_text(fields, field) for field in ("hook_event_name", "tool_name"))
    call_id = payload.first_text(fields, "tool_use_id")
    if name != "PreToolUse" or not call_id or not tool.startswith(_OWN_TOOLS):
        return None
    return payload.parse_own_call(fields, tool.removeprefix(_OWN_TOOLS), call_id)


def _render_answer(event: HookEvent, answer: HookAnswer) -> HookOutput:
    body = payload.render_specific_output(event, answer)
    return payload.render_json(body | ({"systemMessage": answer.warning} if answer.warning else {}))


def _identify_agent(fields: payload.Fields) -> str:
    """VS Code runs Claude's hooks too, and only VS Code sends `timestamp`. Its own hooks have precedence if they are installed."""
    if "timestamp" not in fields:
        return "claude"
    copilot = Path(os.environ.get("COPILOT_HOME") or "~/.copilot").expanduser()
    return "" if (copilot / "hooks" / "commonplace.json").exists() else "vscode"


HOOKS = AgentHooks(
    _EVENTS,
    _CONTEXT_KINDS,
    _WARNING_KINDS,
    _parse_event,
    _render_answer,
    "`permissionDecision: deny`",
    _identify_agent,
    process_variable="CLAUDE_PID",
)
