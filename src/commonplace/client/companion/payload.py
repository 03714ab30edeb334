"""The parts of hook input and output that most agents share: reading fields, finding edited files, rendering answers.

What is special to one agent is in `client/agents/<agent>/hooks.py`.
"""

import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from commonplace.client.companion.caller import current_folder
from commonplace.client.companion.hook_event import EventKind, HookAnswer, HookEvent, HookOutput

Fields = dict[str, Any]

_EDIT_KINDS = ("before_edit", "after_edit")
_SHELL_KINDS: Mapping[EventKind, EventKind] = {"before_edit": "before_shell", "after_edit": "after_shell"}
_FILE_HEADER = re.compile(
    r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to):[ \t]*(.*?)[ \t\r]*$", re.MULTILINE
)
_EXIT_CODE = re.compile(r"(?:exited with (?:exit )?code|\"Exit code):? (\d{1,5})", re.IGNORECASE)
_MEMORY_TOOLS = "memory_"
START_TOOL = "memory_start_session"
STATUS_TOOL = "memory_checkout_status"
_PATH_FIELDS = ("file_path", "filePath", "notebook_path", "path", "target_file", "absolute_path")


def first_text(payload: Fields, *names: str) -> str:
    """The first of these fields that holds text; agents and their versions spell them differently."""
    return next((value for name in names if isinstance(value := payload.get(name), str) and value), "")


def parse_object(value: Any) -> Fields:
    """A JSON object, also where an agent sends it as text; empty if it is not one."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}


def parse_event(
    payload: Fields, kinds: Mapping[str, EventKind], editors: Collection[str], shells: Collection[str] = ()
) -> HookEvent | None:
    """The event, or None if hooks do not act on it, such as a tool call that edits no file and runs no command."""
    name = first_text(payload, "hook_event_name", "hookEventName")
    kind = _kind_of_event(payload, kinds.get(name))
    tool = first_text(payload, "tool_name", "toolName")
    if kind is not None and kind in _SHELL_KINDS and tool in shells:
        return _parse_shell_call(payload, name, _SHELL_KINDS[kind])
    files = find_edited_files(payload, editors) if kind in _EDIT_KINDS else ()
    if kind is None or (kind in _EDIT_KINDS and not files):
        return None
    return HookEvent(
        kind,
        name,
        first_text(payload, "session_id", "sessionId", "conversation_id"),
        first_text(payload, "cwd") or current_folder(),
        files,
        first_text(payload, "prompt"),
        first_text(payload, "agent_transcript_path", "transcript_path", "transcriptPath"),
        first_text(payload, "source", "reason", "trigger"),
        arguments=tool_arguments(payload) if files else None,
        subagent=first_text(payload, "agent_id"),
        tool=tool,
    )


def _parse_shell_call(payload: Fields, name: str, kind: EventKind) -> HookEvent | None:
    arguments = tool_arguments(payload)
    command = first_text(arguments, "command", "cmd", "command_line")
    if not command:
        return None
    cwd = first_text(payload, "cwd") or current_folder()
    folder = first_text(arguments, "workdir", "directory", "dir_path", "cwd")
    return HookEvent(
        kind,
        name,
        first_text(payload, "session_id", "sessionId", "conversation_id"),
        folder if folder.startswith("/") else str(Path(cwd) / folder),
        transcript=first_text(payload, "transcript_path", "transcriptPath"),
        call_id=first_text(payload, "tool_use_id", "toolCallId", "callID"),
        arguments=arguments,
        subagent=first_text(payload, "agent_id"),
        command=command,
        tool=first_text(payload, "tool_name", "toolName"),
        exit_code=_find_exit_code(payload) if kind == "after_shell" else None,
    )


def _find_exit_code(payload: Fields) -> int:
    """The exit code that the program names, or writes into the result; where it writes none, the command succeeded."""
    named = payload.get("exit_code")
    match = _EXIT_CODE.search(json.dumps(payload.get("tool_response", payload.get("error", ""))))
    return named if isinstance(named, int) else int(match[1]) if match else 0


def parse_own_call(payload: Fields, tool: str, call_id: str = "") -> HookEvent | None:
    """The call of one of our tools, or None if it says itself in which session."""
    arguments = parse_object(payload.get("tool_input"))
    names = {session_argument(tool)} | ({"agent_session"} if tool == START_TOOL else set())
    if any(arguments.get(name) for name in names):
        return None
    return HookEvent(
        "before_call",
        first_text(payload, "hook_event_name"),
        first_text(payload, "session_id"),
        first_text(payload, "cwd") or current_folder(),
        call_id=call_id,
        own_tool=tool,
        arguments=arguments,
        subagent=first_text(payload, "agent_id"),
    )


def session_argument(tool: str) -> str:
    """The argument of a tool of ours that names the caller's session; elsewhere `session_id` means something else."""
    return "session_id" if tool.startswith(_MEMORY_TOOLS) else "agent_session"


def _kind_of_event(payload: Fields, kind: EventKind | None) -> EventKind | None:
    """The kind, but for the end of a sub-agent: a compaction sends one with an empty type, and older agents no id."""
    if kind != "subagent_end":
        return kind
    if payload.get("agent_type") == "":
        return None
    return kind if first_text(payload, "agent_id") else "stop"


def find_edited_files(payload: Fields, editors: Collection[str]) -> tuple[str, ...]:
    """The files that a tool call is about to change; none if the tool is not one of `editors`."""
    if first_text(payload, "tool_name", "toolName") not in editors:
        return ()
    arguments = tool_arguments(payload)
    return list_patched_files(arguments) or find_path_arguments(arguments)


def tool_arguments(payload: Fields) -> Fields:
    inputs = (payload.get(name) for name in ("tool_input", "toolInput", "toolArgs"))
    return next((parsed for value in inputs if (parsed := parse_object(value))), {})


def find_path_arguments(arguments: Fields) -> tuple[str, ...]:
    """Every path in the arguments of an editing tool: its own, and those of the edits that it lists."""
    paths = [arguments[name] for name in _PATH_FIELDS if isinstance(arguments.get(name), str)]
    for name in ("replacements", "edits", "files"):
        edits = arguments.get(name)
        for edit in edits if isinstance(edits, list) else ():
            paths += [edit] if isinstance(edit, str) else list(find_path_arguments(parse_object(edit)))
    return tuple(dict.fromkeys(path for path in paths if path))


def render_specific_output(event: HookEvent, answer: HookAnswer) -> Fields:
    """Claude's answer format, which Codex and VS Code share. An empty object lets the agent continue."""
    if answer.denial:
        verdict = "ask" if answer.asks else "deny"
        decision: Fields = {"permissionDecision": verdict, "permissionDecisionReason": answer.denial}
    elif answer.arguments and event.kind == "before_shell":
        changed = {"updatedInput": {**(event.arguments or {}), **answer.arguments}}
        decision = changed | ({"additionalContext": answer.context} if answer.context else {})
    elif answer.context:
        decision = {"additionalContext": answer.context}
    else:
        return {}
    return {"hookSpecificOutput": {"hookEventName": event.name, **decision}}


def render_blocked_stop(answer: HookAnswer) -> Fields:
    """Makes an agent that is about to stop go on, with the reason as its next prompt."""
    return {"decision": "block", "reason": answer.denial}


def render_json(body: Fields) -> HookOutput:
    return HookOutput(json.dumps(body, ensure_ascii=False, separators=(",", ":")) if body else "")


def list_patched_files(arguments: Fields) -> tuple[str, ...]:
    """The files that a patch in the format of `apply_patch` changes; both names of a file that is moved."""
    values = [arguments.get(name) for name in ("command", "input", "patch", "patchText")]
    texts = ["\n".join(filter(_is_text, value)) if isinstance(value, list) else value for value in values]
    found = [path for text in texts if isinstance(text, str) for path in _FILE_HEADER.findall(text)]
    return tuple(dict.fromkeys(path for path in found if path))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)
