"""Copilot CLI's hooks.

A sub-agent's hooks send the sub-agent's id as `sessionId`. Here an event has the session of the whole conversation,
and the id of the sub-agent beside it.
"""

import mmap
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

from commonplace import window
from commonplace.client.companion import payload
from commonplace.client.companion.caller import current_folder, find_parent_pid
from commonplace.client.companion.hook_event import (
    AgentHooks,
    EventKind,
    HookAnswer,
    HookEvent,
    HookOutput,
    WaitingRequest,
)
from commonplace.client.companion.permission_requests import format_denial, format_tool_input

# `preCompact` says that a compaction begins; only the transcript says whether it was applied.
_EVENTS: dict[str, EventKind] = {
    "sessionStart": "session_start",
    "sessionEnd": "session_end",
    "userPromptSubmitted": "prompt",
    "preToolUse": "before_edit",
    "postToolUse": "after_edit",
    "preMcpToolCall": "before_call",
    "preCompact": "stop",
    "agentStop": "stop",
    "subagentStart": "subagent_start",
    "subagentStop": "subagent_end",
    "notification": "waiting",
    "permissionRequest": "waiting",
}
_DIALOG_NOTIFICATIONS = {"permission_prompt": "permission", "elicitation_dialog": "question"}
_ALLOWS_ALL = {"--allow-all-tools", "--allow-all", "--yolo"}
_CONTEXT_KINDS: frozenset[EventKind] = frozenset(
    {"session_start", "prompt", "after_edit", "after_shell", "subagent_start"}
)
_WARNING_KINDS = _CONTEXT_KINDS

_EDITORS = {"create", "edit", "str_replace_editor", "apply_patch"}
_SHELLS = {"bash", "powershell"}
_OWN_SERVER = "commonplace"
_TRANSCRIPT_NAME = "events.jsonl"
_COMPACTED = b'{"type":"session.compaction_complete","data":{"success":true'
_MAX_COMPACTIONS_READ = 50
_MAX_SESSIONS_SEARCHED = 5


def _parse_event(fields: payload.Fields) -> HookEvent | None:
    subagent = payload.first_text(fields, "agentId")
    name = payload.first_text(fields, "hook_event_name")
    if subagent and name == "userPromptSubmitted":  # the parent's model wrote it
        return None
    session = _root_session(fields, subagent) if subagent else payload.first_text(fields, "sessionId")
    transcript = payload.first_text(fields, "transcriptPath") or str(_transcript_path(session))
    if name == "preMcpToolCall":
        event = _parse_own_call(fields)
    elif _EVENTS.get(name) == "waiting":
        event = _parse_waiting(fields, name)
    else:
        event = payload.parse_event(_wrap_patch(fields) | {"agent_id": subagent}, _EVENTS, _EDITORS, _SHELLS)
    return event._replace(session=session, transcript=transcript, subagent=subagent) if event else None


def _parse_own_call(fields: payload.Fields) -> HookEvent | None:
    if payload.first_text(fields, "serverName") != _OWN_SERVER:
        return None
    cwd = payload.first_text(fields, "cwd") or current_folder()
    return HookEvent(
        "before_call", "preMcpToolCall", "", cwd, own_tool=payload.first_text(fields, "toolName")
    )


def _parse_waiting(fields: payload.Fields, name: str) -> HookEvent | None:
    request = _describe_dialog(fields) if name == "notification" else _describe_call(fields)
    event = payload.parse_event(fields, _EVENTS, ())
    return event._replace(request=request) if event and request else None


def _describe_dialog(fields: payload.Fields) -> WaitingRequest | None:
    """A dialog that is open; no hook can answer it any more."""
    kind = _DIALOG_NOTIFICATIONS.get(payload.first_text(fields, "notification_type"))
    message = payload.first_text(fields, "message")
    if kind == "question" and message:
        return WaitingRequest("question", questions=({"question": message},), is_hint=True)
    title = payload.first_text(fields, "title")
    return WaitingRequest("permission", title, message, is_hint=True) if kind else None


def _describe_call(fields: payload.Fields) -> WaitingRequest | None:
    """A call that may need a permission: the event comes before every call, also if everything is allowed."""
    tool = payload.first_text(fields, "toolName")
    if tool not in _SHELLS | _EDITORS or _allows_all():
        return None
    text = format_tool_input(payload.parse_object(fields.get("toolInput")))
    return WaitingRequest("permission", tool, text, answered="before", is_certain=False)


def _allows_all() -> bool:
    """Whether the program was started so that it asks nobody; on Linux only."""
    try:
        words = (
            Path(f"/proc/{find_parent_pid()}/cmdline")
            .read_text(encoding="utf-8", errors="replace")
            .split("\0")
        )
    except OSError:
        return False
    return not _ALLOWS_ALL.isdisjoint(words)


def _wrap_patch(fields: payload.Fields) -> payload.Fields:
    """The arguments of `apply_patch` are the patch itself."""
    patch = fields.get("toolArgs")
    is_text = isinstance(patch, str) and not payload.parse_object(patch)
    return fields | {"toolArgs": {"patch": patch}} if is_text else fields


def _root_session(fields: payload.Fields, subagent: str) -> str:
    """The session of a sub-agent's conversation. The parent of a sub-agent may be a sub-agent too."""
    path = Path(payload.first_text(fields, "transcriptPath"))
    if path.name == _TRANSCRIPT_NAME:
        return path.parent.name
    parent = payload.first_text(fields, "parentAgentId")
    if _transcript_path(parent).exists():
        return parent
    return next((path.parent.name for path in _recent_transcripts() if _contains(path, subagent)), parent)


def _transcript_path(session: str) -> Path:
    return _sessions_folder() / session / _TRANSCRIPT_NAME


def _sessions_folder() -> Path:
    return _copilot_home() / "session-state"


def _copilot_home() -> Path:
    return Path(os.environ.get("COPILOT_HOME") or "~/.copilot").expanduser()


def _recent_transcripts() -> list[Path]:
    paths = _sessions_folder().glob(f"*/{_TRANSCRIPT_NAME}")
    return sorted(paths, key=lambda path: path.stat().st_mtime, reverse=True)[:_MAX_SESSIONS_SEARCHED]


def _contains(path: Path, text: str) -> bool:
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return content.find(text.encode()) >= 0
    except (OSError, ValueError):  # ValueError: an empty file
        return False


def _find_compaction(event: HookEvent) -> str:
    """A digest of the record of the last compaction that was applied to the conversation itself."""
    if event.subagent:
        return ""
    try:
        with (
            Path(event.transcript).open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
        ):
            records = (record for record in _compactions(content) if b'"agentId":"' not in record)
            return next((f"{zlib.crc32(record):08x}" for record in records), "")
    except (OSError, ValueError):  # ValueError: an empty file
        return ""


def _compactions(content: mmap.mmap) -> Iterator[bytes]:
    """The records of compactions, latest first."""
    start = len(content)
    for _ in range(_MAX_COMPACTIONS_READ):
        start = content.rfind(_COMPACTED, 0, start)
        if start < 0:
            return
        end = content.find(b"\n", start)
        yield content[start : end if end >= 0 else len(content)]


def _render_answer(event: HookEvent, answer: HookAnswer) -> HookOutput:
    if event.kind == "before_call":
        return payload.render_json({"metaToUse": _call_meta(event)})
    if event.kind == "waiting":
        return payload.render_json(_render_decision(answer))
    if event.kind == "stop" and answer.denial:
        return payload.render_json(payload.render_blocked_stop(answer))
    if answer.denial:
        return payload.render_json({"permissionDecision": "deny", "permissionDecisionReason": answer.denial})
    body: payload.Fields = {"additionalContext": answer.context} if answer.context else {}
    if answer.arguments and event.kind == "before_shell":
        body["modifiedArgs"] = {**(event.arguments or {}), **answer.arguments}
    return payload.render_json(body)


def _render_decision(answer: HookAnswer) -> payload.Fields:
    if answer.verdict is None:
        return {}
    if answer.verdict["decision"] == "deny":
        return {"behavior": "deny", "message": format_denial(answer.verdict)}
    return {"behavior": "allow"}


def _call_meta(event: HookEvent) -> payload.Fields:
    """What ties a call of our tools to its conversation; a sub-agent that starts is told from its parent."""
    windows = [window.conversation_window("copilot", event.session)]
    if event.subagent:
        windows.insert(0, window.conversation_window("copilot", event.session, event.subagent))
    return {window.WINDOW_META: windows, window.SEAT_META: f"copilot@{window.machine_name()}"}


def _identify_agent(fields: payload.Fields) -> str:
    """VS Code runs Copilot's hooks too and spells `session_id`. Its own hooks have precedence if they are installed."""
    if "session_id" not in fields and "hookEventName" not in fields:
        return "copilot"
    return "" if (_copilot_home() / "hooks" / "commonplace.json").exists() else "vscode"


HOOKS = AgentHooks(
    _EVENTS,
    _CONTEXT_KINDS,
    _WARNING_KINDS,
    _parse_event,
    _render_answer,
    "`permissionDecision: deny`",
    _identify_agent,
    find_compaction=_find_compaction,
)
