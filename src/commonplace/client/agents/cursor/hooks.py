"""Cursor. Only its session start takes context; `permission: allow` would skip the user's own rules, so it is not said."""

from commonplace.client.hooks import shape
from commonplace.client.hooks.event import Answer, Event, Kind, Output

KINDS: dict[str, Kind] = {
    "sessionStart": "session_start",
    "sessionEnd": "session_end",
    "beforeSubmitPrompt": "prompt",
    "preToolUse": "before_edit",
    "afterFileEdit": "after_edit",
    "preCompact": "before_compact",
    "stop": "stop",
    "subagentStop": "stop",
}
HEARS = frozenset({"session_start"})
WARNS = frozenset(KINDS.values())

_EDITORS = {"Write", "Edit", "MultiEdit", "StrReplace", "Delete", "EditNotebook", "write", "edit_file"}


def read(given: shape.Fields) -> Event | None:
    roots = given.get("workspace_roots")
    if not shape.text(given, "cwd") and isinstance(roots, list) and roots:
        given = given | {"cwd": _folder(str(roots[0]))}
    if shape.text(given, "hook_event_name") == "afterFileEdit":
        given = given | {"tool_name": "Write", "tool_input": {"file_path": given.get("file_path")}}
    known = shape.event(given, KINDS, _EDITORS)
    return known._replace(session=shape.text(given, "conversation_id", "session_id")) if known else None


def write(event: Event, answer: Answer) -> Output:
    body: shape.Fields = {}
    if answer.denial:
        body = {"permission": "deny", "user_message": answer.denial, "agent_message": answer.denial}
    elif answer.context and event.kind == "session_start":
        body = {"additional_context": answer.context, "env": {"COMMONPLACE_AGENT_SESSION": event.session}}
    return shape.printed(body)._replace(stderr=answer.warning)


def _folder(root: str) -> str:
    """On Windows a workspace comes as `/c:/work`."""
    return root[1:] if root[2:3] == ":" and root.startswith("/") else root
