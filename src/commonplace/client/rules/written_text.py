"""The text that an editing tool is about to write, whatever the program calls its arguments."""

from collections.abc import Iterator
from typing import Any

_TEXT_FIELDS = (
    "content",
    "contents",
    "new_string",
    "newString",
    "new_str",
    "new_source",
    "file_text",
    "code",
    "newText",
)
_PATCH_FIELDS = ("command", "input", "patch", "patchText")
_LISTS = ("edits", "replacements", "files")
_MAX_DEPTH = 3


def find_written_text(arguments: dict[str, Any]) -> str:
    """Every text that is written, joined by line ends; of a patch, the lines that it adds."""
    return "\n".join(_list_texts(arguments, 0))


def _list_texts(arguments: dict[str, Any], depth: int) -> Iterator[str]:
    yield from (text for name in _TEXT_FIELDS if isinstance(text := arguments.get(name), str))
    for name in _PATCH_FIELDS:
        patch = arguments.get(name)
        if isinstance(patch, str):
            yield from list_added_lines(patch)
    for name in _LISTS if depth < _MAX_DEPTH else ():
        edits = arguments.get(name)
        for edit in edits if isinstance(edits, list) else ():
            if isinstance(edit, dict):
                yield from _list_texts(edit, depth + 1)


def list_added_lines(patch: str) -> Iterator[str]:
    yield from (
        line[1:] for line in patch.splitlines() if line.startswith("+") and not line.startswith("+++")
    )
