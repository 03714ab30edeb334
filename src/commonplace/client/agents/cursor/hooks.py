"""Cursor's hooks."""

from commonplace.client.companion import payload
from commonplace.client.companion.hook_event import AgentHooks, EventKind, HookAnswer, HookEvent, HookOutput

_EVENTS: dict[str, EventKind] = {
    "sessionStart": "session_start",
    "sessionEnd": "session_end",
    "beforeSubmitPrompt": "prompt",
    "preToolUse": "before_edit",
    "afterFileEdit": "after_edit",
    "beforeShellExecution": "before_shell",
    "preCompact": "before_compact",
    "stop": "stop",
    "subagentStop": "stop",
}
_CONTEXT_KINDS: frozenset[EventKind] = frozenset({"session_start"})
_WARNING_KINDS = frozenset(_EVENTS.values())

_EDITORS = {"Write", "Edit", "MultiEdit", "StrReplace", "Delete", "EditNotebook", "write", "edit_file"}


def _parse_event(fields: payload.Fields) -> HookEvent | None:
    roots = fields.get("workspace_roots")
    if not payload.first_text(fields, "cwd") and isinstance(roots, list) and roots:
        fields = fields | {"cwd": _parse_root(str(roots[0]))}
    if payload.first_text(fields, "hook_event_name") == "afterFileEdit":
        fields = fields | {"tool_name": "Write", "tool_input": {"file_path": fields.get("file_path")}}
    if payload.first_text(fields, "hook_event_name") == "beforeShellExecution":
        return _parse_shell_call(fields)
    event = payload.parse_event(fields, _EVENTS, _EDITORS)
    return (
        event._replace(session=payload.first_text(fields, "conversation_id", "session_id")) if event else None
    )


def _parse_shell_call(fields: payload.Fields) -> HookEvent | None:
    command = payload.first_text(fields, "command")
    if not command:
        return None
    session, cwd = (
        payload.first_text(fields, "conversation_id", "session_id"),
        payload.first_text(fields, "cwd"),
    )
    return HookEvent("before_shell", "beforeShellExecution", session, cwd, command=command, tool="Shell")


def _render_answer(event: HookEvent, answer: HookAnswer) -> HookOutput:
    body: payload.Fields = {}
    if event.kind == "stop" and answer.denial:
        body = {"followup_message": answer.denial}
    elif answer.denial:
        verdict = "ask" if answer.asks else "deny"
        body = {"permission": verdict, "user_message": answer.denial, "agent_message": answer.denial}
    elif answer.context and event.kind == "session_start":
        body = {"additional_context": answer.context, "env": {"COMMONPLACE_AGENT_SESSION": event.session}}
    return payload.render_json(body)._replace(stderr=answer.warning)


def _parse_root(root: str) -> str:
    """On Windows a workspace comes as `/c:/work`."""
    return root[1:] if root[2:3] == ":" and root.startswith("/") else root


HOOKS = AgentHooks(
    _EVENTS,
    _CONTEXT_KINDS,
    _WARNING_KINDS,
    _parse_event,
    _render_answer,
    "`permission: deny`",
    asking_kinds=frozenset({"before_shell"}),
)
