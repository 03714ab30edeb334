"""Gemini CLI's hooks."""

import zlib
from pathlib import Path

from commonplace.client.companion import payload
from commonplace.client.companion.hook_event import (
    AgentHooks,
    EventKind,
    HookAnswer,
    HookEvent,
    HookOutput,
    WaitingRequest,
)
from commonplace.client.companion.permission_requests import parse_questions

_EVENTS: dict[str, EventKind] = {
    "SessionStart": "session_start",
    "SessionEnd": "session_end",
    "BeforeAgent": "prompt",
    "BeforeTool": "before_edit",
    "AfterTool": "after_edit",
    "AfterAgent": "stop",
    "Notification": "waiting",
}
_CONTEXT_KINDS: frozenset[EventKind] = frozenset({"session_start", "prompt", "after_edit", "after_shell"})
_WARNING_KINDS: frozenset[EventKind] = _CONTEXT_KINDS | {"before_edit", "before_shell", "stop"}

_EDITORS = {"write_file", "replace"}
_SHELLS = {"run_shell_command"}
_OWN_SERVER = "commonplace"
_REPLACED_MESSAGES = b'{"$set"'
_SNAPSHOT_START, _SNAPSHOT_END = b"<state_snapshot>", b"</state_snapshot>"


def _parse_event(fields: payload.Fields) -> HookEvent | None:
    event = _parse_own_call(fields) or payload.parse_event(fields, _EVENTS, _EDITORS, _SHELLS)
    return event._replace(request=_describe_dialog(fields)) if event and event.kind == "waiting" else event


def _describe_dialog(fields: payload.Fields) -> WaitingRequest | None:
    """What a dialog asks, from the notification that it is open; no hook can answer it."""
    if payload.first_text(fields, "notification_type") != "ToolPermission":
        return None
    details = payload.parse_object(fields.get("details"))
    message = payload.first_text(fields, "message")
    if payload.first_text(details, "type") == "ask_user":
        asked = parse_questions(details.get("questions")) or (({"question": message},) if message else ())
        if asked:
            return WaitingRequest("question", "ask_user", "", asked)
    title = payload.first_text(details, "title", "type")
    return WaitingRequest("permission", title, payload.first_text(details, "command", "filePath") or message)


def _parse_own_call(fields: payload.Fields) -> HookEvent | None:
    """A call of one of our tools that does not say in which session; Gemini sends nothing else that would tell."""
    call = payload.parse_object(fields.get("mcp_context"))
    tool = payload.first_text(call, "tool_name")
    is_before = payload.first_text(fields, "hook_event_name") == "BeforeTool"
    if not is_before or not tool or call.get("server_name") != _OWN_SERVER:
        return None
    if not isinstance(fields.get("tool_input"), dict):
        return None
    return payload.parse_own_call(fields, tool)


def _render_answer(event: HookEvent, answer: HookAnswer) -> HookOutput:
    body: payload.Fields = {"systemMessage": answer.warning} if answer.warning else {}
    if event.kind == "stop" and answer.denial:
        body |= payload.render_blocked_stop(answer)
    elif answer.denial:
        body |= {"decision": "deny", "reason": answer.denial}
    elif answer.arguments:
        # Gemini replaces the whole input by this one.
        whole_input = {**(event.arguments or {}), **answer.arguments}
        body["hookSpecificOutput"] = {"hookEventName": event.name, "tool_input": whole_input}
    elif answer.context:
        body["hookSpecificOutput"] = {"hookEventName": event.name, "additionalContext": answer.context}
    return payload.render_json(body)


def _find_compaction(event: HookEvent) -> str:
    """A digest of the last summary that replaced the messages. `PreCompress` runs before every model request."""
    try:
        lines = Path(event.transcript).read_bytes().splitlines() if event.transcript else []
    except OSError:
        return ""
    for line in reversed(lines):
        if line.startswith(_REPLACED_MESSAGES) and _SNAPSHOT_START in line:
            summary = line.rpartition(_SNAPSHOT_START)[2].partition(_SNAPSHOT_END)[0]
            return f"{zlib.crc32(summary):08x}"
    return ""


HOOKS = AgentHooks(
    _EVENTS,
    _CONTEXT_KINDS,
    _WARNING_KINDS,
    _parse_event,
    _render_answer,
    "`decision: deny`",
    find_compaction=_find_compaction,
)
