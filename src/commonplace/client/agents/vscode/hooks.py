"""VS Code and Copilot. Its hooks fire for every tool, so the names of those that edit are known here."""

from commonplace.client.agents.claude import hooks as claude
from commonplace.client.hooks import shape
from commonplace.client.hooks.event import Answer, Event, Kind, Output

# Copilot's command line spells the same events with a small letter.
KINDS: dict[str, Kind] = claude.KINDS | {
    name[0].lower() + name[1:]: kind for name, kind in claude.KINDS.items()
}
HEARS = claude.HEARS
WARNS = claude.WARNS

_EDITORS = {
    *claude.EDITORS,
    "apply_patch",
    "create",
    "create_file",
    "createFile",
    "edit",
    "edit_notebook_file",
    "editFiles",
    "insert_edit_into_file",
    "multi_replace_string_in_file",
    "replace_string_in_file",
    "str_replace_editor",
}


def read(given: shape.Fields) -> Event | None:
    return shape.event(given, KINDS, _EDITORS)


def write(event: Event, answer: Answer) -> Output:
    return claude.write(event, answer)
