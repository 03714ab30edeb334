"""What the inputs and outputs of most agents have in common."""

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from commonplace.client.hooks import patch
from commonplace.client.hooks.event import Answer, Event, Kind, Output

Fields = dict[str, Any]

_EDITS = ("before_edit", "after_edit")
_PATHS = ("file_path", "filePath", "notebook_path", "path", "target_file", "absolute_path")


def text(given: Fields, *names: str) -> str:
    """The first of these fields that holds a text; agents and their versions spell them differently."""
    return next((value for name in names if isinstance(value := given.get(name), str) and value), "")


def fields(value: Any) -> Fields:
    """An object, also where an agent sends it as a text."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}


def event(given: Fields, kinds: Mapping[str, Kind], editors: Collection[str]) -> Event | None:
    """The event, if it is one of ours; a tool that edits nothing is none."""
    name = text(given, "hook_event_name", "hookEventName")
    kind = kinds.get(name)
    files = edited(given, editors) if kind in _EDITS else ()
    if kind is None or (kind in _EDITS and not files):
        return None
    return Event(
        kind,
        name,
        text(given, "session_id", "sessionId", "conversation_id"),
        text(given, "cwd") or str(Path.cwd()),
        files,
        text(given, "prompt"),
        text(given, "agent_transcript_path", "transcript_path", "transcriptPath"),
        text(given, "source", "reason", "trigger"),
    )


def edited(given: Fields, editors: Collection[str]) -> tuple[str, ...]:
    """The files that a call of a tool is about to change; one that is no editor changes none."""
    if text(given, "tool_name", "toolName") not in editors:
        return ()
    sent = (given.get(name) for name in ("tool_input", "toolInput", "toolArgs"))
    arguments = next((found for value in sent if (found := fields(value))), {})
    return patch.files(arguments) or named_files(arguments)


def named_files(arguments: Fields) -> tuple[str, ...]:
    """Every path in the arguments of an editing tool: its own, and those of the edits that it lists."""
    found = [arguments[name] for name in _PATHS if isinstance(arguments.get(name), str)]
    lists = (arguments.get(name) for name in ("replacements", "edits", "files"))
    for listed in lists:
        for each in listed if isinstance(listed, list) else ():
            found += [each] if isinstance(each, str) else list(named_files(fields(each)))
    return tuple(dict.fromkeys(path for path in found if path))


def specific(happened: Event, answer: Answer) -> Fields:
    """Claude's way to answer, which Codex and VS Code share; nothing at all lets the agent go on."""
    if answer.denial:
        decided = {"permissionDecision": "deny", "permissionDecisionReason": answer.denial}
    elif answer.context:
        decided = {"additionalContext": answer.context}
    else:
        return {}
    return {"hookSpecificOutput": {"hookEventName": happened.name, **decided}}


def printed(body: Fields) -> Output:
    return Output(json.dumps(body, ensure_ascii=False, separators=(",", ":")) if body else "")
