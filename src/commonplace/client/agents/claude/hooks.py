"""Claude Code's hooks. Codex and VS Code use the same format."""

import os
import shlex
from pathlib import Path

from commonplace.client.checkout.working_tree import find_working_tree
from commonplace.client.companion import payload
from commonplace.client.companion.hook_event import (
    AgentHooks,
    EventKind,
    HookAnswer,
    HookEvent,
    HookOutput,
    WaitingRequest,
)
from commonplace.client.companion.permission_requests import (
    PERMISSION_EVENT,
    parse_permission_request,
    render_permission_decision,
)

_EVENTS: dict[str, EventKind] = {
    "SessionStart": "session_start",
    "SessionEnd": "session_end",
    "UserPromptSubmit": "prompt",
    "PreToolUse": "before_edit",
    "PostToolUse": "after_edit",
    "PostToolUseFailure": "after_edit",
    "PreCompact": "before_compact",
    "Stop": "stop",
    "SubagentStart": "subagent_start",
    "SubagentStop": "subagent_end",
    "PermissionRequest": "waiting",
    "Notification": "waiting",
}
_DIALOG_NOTIFICATIONS = {"permission_prompt": "permission", "elicitation_dialog": "question"}
_CONTEXT_KINDS: frozenset[EventKind] = frozenset(
    {"session_start", "prompt", "before_edit", "before_shell", "after_edit", "after_shell", "subagent_start"}
)
_WARNING_KINDS: frozenset[EventKind] = _CONTEXT_KINDS | {"stop"}

ASKING_KINDS: frozenset[EventKind] = frozenset({"before_edit", "before_shell"})

_OWN_TOOLS = "mcp__commonplace__"
EDITORS = {"Write", "Edit", "MultiEdit", "NotebookEdit"}
SHELLS = {"Bash", "Monitor"}
_WORKTREE_EXIT = "ExitWorktree"


def _parse_event(fields: payload.Fields) -> HookEvent | None:
    name = payload.first_text(fields, "hook_event_name")
    if name == PERMISSION_EVENT:
        return parse_permission_request(fields, "beside" if _is_attended() else "before")
    if name == "Notification":
        return _parse_notification(fields)
    if payload.first_text(fields, "tool_name") == _WORKTREE_EXIT:
        return _parse_worktree_exit(fields)
    event = parse_own_call(fields) or payload.parse_event(fields, _EVENTS, EDITORS, SHELLS)
    if event and event.kind == "stop" and fields.get("background_tasks"):
        return event._replace(source="background")
    return event


def _is_attended() -> bool:
    """Whether a dialog is open beside the hook; with `claude -p` there is none, and the run would wait."""
    return os.environ.get("CLAUDE_CODE_SESSION_ATTENDED") != "0"


def _parse_notification(fields: payload.Fields) -> HookEvent | None:
    """A dialog that no other event told of, such as that of an MCP server."""
    kind = _DIALOG_NOTIFICATIONS.get(payload.first_text(fields, "notification_type"))
    event = payload.parse_event(fields, _EVENTS, ())
    if kind is None or event is None:
        return None
    text = payload.first_text(fields, "message")
    questions = ({"question": text},) if kind == "question" and text else ()
    kind = kind if questions else "permission"
    return event._replace(request=WaitingRequest(kind, text=text, questions=questions, is_hint=True))


def _parse_worktree_exit(fields: payload.Fields) -> HookEvent | None:
    """Claude's own way to remove a linked working tree: the same as git's command. The tool ignores the main one."""
    tree = find_working_tree(payload.first_text(fields, "cwd"))
    action = payload.parse_object(fields.get("tool_input")).get("action")
    if action != "remove" or tree.root == tree.main:
        return None
    command = {"command": f"git worktree remove --force {shlex.quote(tree.root)}"}
    return payload.parse_event(fields | {"tool_input": command}, _EVENTS, EDITORS, {_WORKTREE_EXIT})


def parse_own_call(fields: payload.Fields) -> HookEvent | None:
    """A call of one of our tools that does not say which session it is of; Claude sends its id with the call."""
    name, tool = (payload.first_text(fields, field) for field in ("hook_event_name", "tool_name"))
    call_id = payload.first_text(fields, "tool_use_id")
    if name != "PreToolUse" or not call_id or not tool.startswith(_OWN_TOOLS):
        return None
    return payload.parse_own_call(fields, tool.removeprefix(_OWN_TOOLS), call_id)


def _render_answer(event: HookEvent, answer: HookAnswer) -> HookOutput:
    if event.kind == "waiting":
        return payload.render_json(render_permission_decision(event, answer))
    if event.kind == "stop" and answer.denial:
        body = payload.render_blocked_stop(answer)
    else:
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
    asking_kinds=ASKING_KINDS,
)
