"""Gemini CLI."""

from commonplace.client.hooks import shape
from commonplace.client.hooks.event import Answer, Event, Kind, Output

KINDS: dict[str, Kind] = {
    "SessionStart": "session_start",
    "SessionEnd": "session_end",
    "BeforeAgent": "prompt",
    "BeforeTool": "before_edit",
    "AfterTool": "after_edit",
    "AfterAgent": "stop",
    "PreCompress": "before_compact",
}
HEARS = frozenset({"session_start", "prompt", "after_edit"})
WARNS = HEARS | {"before_edit", "stop"}

_EDITORS = {"write_file", "replace"}


def read(given: shape.Fields) -> Event | None:
    return shape.event(given, KINDS, _EDITORS)


def write(event: Event, answer: Answer) -> Output:
    body: shape.Fields = {"systemMessage": answer.warning} if answer.warning else {}
    if answer.denial:
        body |= {"decision": "deny", "reason": answer.denial}
    elif answer.context:
        body["hookSpecificOutput"] = {"hookEventName": event.name, "additionalContext": answer.context}
    return shape.printed(body)
