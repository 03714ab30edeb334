"""opencode, through the plugin that `commonplace install` gives it: it sends its hooks' names and does what it is told."""

from commonplace.client.hooks import shape
from commonplace.client.hooks.event import Answer, Event, Kind, Output

KINDS: dict[str, Kind] = {
    "session.created": "session_start",
    "session.compacted": "session_start",
    "session.deleted": "session_end",
    "session.idle": "stop",
    "chat.message": "prompt",
    "tool.execute.before": "before_edit",
    "tool.execute.after": "after_edit",
    "experimental.session.compacting": "before_compact",
}
HEARS = frozenset({"session_start", "prompt", "after_edit"})
WARNS = HEARS

_EDITORS = {"write", "edit", "multiedit", "patch", "apply_patch"}


def read(given: shape.Fields) -> Event | None:
    return shape.event(given, KINDS, _EDITORS)


def write(event: Event, answer: Answer) -> Output:
    del event
    said = {"context": answer.context, "denied": answer.denial, "warning": answer.warning}
    return shape.printed({name: text for name, text in said.items() if text})
