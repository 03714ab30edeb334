"""Codex. Its output is read strictly: a field that it does not know makes the whole answer void."""

from commonplace.client.agents.claude import hooks as claude
from commonplace.client.hooks import shape
from commonplace.client.hooks.event import Answer, Event, Output

HEARS = claude.HEARS
WARNS = HEARS

_EDITORS = {"apply_patch", "Write", "Edit"}


def read(given: shape.Fields) -> Event | None:
    return shape.event(given, claude.KINDS, _EDITORS)


def write(event: Event, answer: Answer) -> Output:
    return shape.printed(shape.specific(event, answer))
