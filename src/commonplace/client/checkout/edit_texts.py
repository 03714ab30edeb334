"""What an editing tool is about to do to each file, as replacements of text; `patch_texts.py` reads patches."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from commonplace.client.checkout import patch_texts

Fields = dict[str, Any]

_PATHS = ("file_path", "filePath", "path", "target_file", "absolute_path")
_OLD = ("old_string", "oldString", "old_str", "old_text", "oldText")
_NEW = ("new_string", "newString", "new_str", "new_text", "newText")
_EVERYWHERE = ("replace_all", "replaceAll", "allow_multiple")
_LISTS = ("edits", "replacements")
_PATCHES = ("command", "input", "patch", "patchText")


class Replacement(NamedTuple):
    old: str
    new: str
    is_everywhere: bool = False


def list_replacements(arguments: Fields, file: str) -> list[Replacement]:
    """The replacements in this file, in order; empty if the tool does anything else with it."""
    found = list(_walk_replacements(arguments, ""))
    return [edit for path, edit in found if edit and path == file] if all(edit for _, edit in found) else []


def apply_edit(arguments: Fields, file: str, text: str) -> str | None:
    """The text of the file after the edit; None if that cannot be told."""
    if patch := find_patch(arguments):
        return patch_texts.apply_patch(patch, file, text)
    replacements = list_replacements(arguments, file)
    for edit in replacements:
        old, new = edit.old.replace("\r\n", "\n"), edit.new.replace("\r\n", "\n")
        count = text.count(old) if old else 0
        if count == 0 or (count > 1 and not edit.is_everywhere):
            return None
        text = text.replace(old, new)
    return text if replacements else None


def find_patch(arguments: Fields) -> str:
    for name in _PATCHES:
        value = arguments.get(name)
        text = (
            "\n".join(part for part in value if isinstance(part, str)) if isinstance(value, list) else value
        )
        if isinstance(text, str) and patch_texts.FIRST_LINE in text:
            return text
    return ""


def _walk_replacements(arguments: Fields, path: str) -> Iterator[tuple[str, Replacement | None]]:
    """Each file with a replacement in it; None stands for something else that is done to it."""
    path = next((str(arguments[name]) for name in _PATHS if isinstance(arguments.get(name), str)), path)
    lists = [edits for name in _LISTS if isinstance(edits := _parse_list(arguments.get(name)), list)]
    for edits in lists:
        for edit in edits:
            if isinstance(edit, dict):
                yield from _walk_replacements(edit, path)
            else:
                yield path, None
    if not lists:
        yield path, _read_replacement(arguments)


def _parse_list(value: Any) -> Any:
    if isinstance(value, str):
        try:
            return json.loads(value)
        except ValueError:
            return None
    return value


def _read_replacement(arguments: Fields) -> Replacement | None:
    old = next((arguments[name] for name in _OLD if isinstance(arguments.get(name), str)), None)
    new = next((arguments[name] for name in _NEW if isinstance(arguments.get(name), str)), None)
    if old is None or new is None:
        return None
    is_everywhere = any(arguments.get(name) is True for name in _EVERYWHERE)
    expected = arguments.get("expected_replacements")
    return Replacement(old, new, is_everywhere or (isinstance(expected, int) and expected > 1))
