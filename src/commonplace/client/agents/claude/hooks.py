"""Claude Code."""

from commonplace.client.hooks import shape
from commonplace.client.hooks.event import Answer, Event, Kind, Output

KINDS: dict[str, Kind] = {
    "SessionStart": "session_start",
    "SessionEnd": "session_end",
    "UserPromptSubmit": "prompt",
    "PreToolUse": "before_edit",
    "PostToolUse": "after_edit",
    "PreCompact": "before_compact",
    "Stop": "stop",
    "SubagentStop": "stop",
}
HEARS = frozenset({"session_start", "prompt", "before_edit", "after_edit"})
WARNS = HEARS | {"stop"}

EDITORS = {"Write", "Edit", "MultiEdit", "NotebookEdit"}


def read(given: shape.Fields) -> Event | None:
    return shape.event(given, KINDS, EDITORS)


def write(event: Event, answer: Answer) -> Output:
    body = shape.specific(event, answer)
    return shape.printed(body | ({"systemMessage": answer.warning} if answer.warning else {}))
