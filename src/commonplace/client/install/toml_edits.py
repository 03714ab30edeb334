"""Add to a TOML document and take away again; every byte that is not part of it stays.

tomlkit keeps what it reads but not what it read before an entry came and went, so entries are added, replaced and taken
away as text wherever that gives the wanted document, and by tomlkit where it does not.
"""

import copy
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from commonplace import errors
from commonplace.client.install import toml_spans
from commonplace.client.install.wishes import Edit


def put(text: str, at: Sequence[str], value: Any) -> tuple[str, Edit]:
    """The text with the value at these keys; an edit that made nothing adds no text."""
    document = tomllib.loads(text)
    edit = Edit("put", list(at), value, made=_known(document, at))
    there = edit.made == len(at)
    if there and _reached(document, at) == value:
        return text, edit
    wanted = _with(document, at, value)
    changed = _replaced(text, edit) if there else _added(text, edit)
    if changed is not None and _says(changed, wanted):
        return changed, edit
    edit.entry, edit.before, edit.text = None, text, _rewritten(text, at, value, wanted)
    return edit.text, edit


def undo(text: str, edit: Edit) -> str:
    """The text without what the edit added, whatever else happened to it since."""
    if edit.before is not None and text == edit.text:
        return edit.before
    document = tomllib.loads(text)
    if _known(document, edit.at) < len(edit.at):
        return text
    if edit.entry is not None and (restored := _restored(text, document, edit)):
        return restored
    replaced = tomllib.loads(edit.entry or edit.before or "")
    for depth in range(len(edit.at)):  # an entry may be written below the header of its table
        if _known(replaced, edit.at[depth:]) == len(edit.at) - depth:
            value = _reached(replaced, edit.at[depth:])
            return _rewritten(text, edit.at, value, _with(document, edit.at, value))
    return _taken_away(text, document, edit)


def _replaced(text: str, edit: Edit) -> str | None:
    """Another value in the place of the entry, in the manner in which that is written."""
    if (span := toml_spans.span(text, edit.at)) is None:
        return None
    first, last = span
    edit.entry = text[first.start : last.end]
    if first.is_header:
        lines = _table(edit.at, edit.value)
    else:
        lines = [f"{_dotted(edit.at[len(first.table) :])} = {_inline(edit.value)}"]
    return text[: first.start] + _newline(text).join(lines) + text[last.end :]


def _restored(text: str, document: dict[str, Any], edit: Edit) -> str | None:
    """The entry that stood there, as it was written."""
    span = toml_spans.span(text, edit.at)
    if span is None or edit.entry is None:
        return None
    restored = text[: span[0].start] + edit.entry + text[span[1].end :]
    return restored if _says_beside(restored, document, edit.at) else None


def _says_beside(text: str, document: dict[str, Any], at: Sequence[str]) -> bool:
    """All but the entry is as in the document."""
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return _known(found, at) == len(at) and _with(found, at, None) == _with(document, at, None)


def _taken_away(text: str, document: dict[str, Any], edit: Edit) -> str:
    wanted = _without(document, edit)
    place = text.find(edit.text) if edit.text else -1
    while edit.text and place >= 0:
        rest = text[:place] + text[place + len(edit.text) :]
        if _says(rest, wanted):
            return rest
        place = text.find(edit.text, place + 1)
    parsed = tomlkit.parse(text)
    del _reached(parsed, edit.at[:-1])[edit.at[-1]]
    for level in range(len(edit.at) - 1, edit.made, -1):
        if not _reached(parsed, edit.at[:level]):
            del _reached(parsed, edit.at[: level - 1])[edit.at[level - 1]]
    return _agreed(tomlkit.dumps(parsed), wanted, edit.at)


def _added(text: str, edit: Edit) -> str:
    edit.text, offset = _addition(text, edit.at, edit.value)
    return text[:offset] + edit.text + text[offset:]


def _addition(text: str, at: Sequence[str], value: Any) -> tuple[str, int]:
    """What to add and where: a table at the end, a key of the document before everything that is no comment."""
    newline = _newline(text)
    ended = newline if text and not text.endswith("\n") else ""
    if len(at) > 1 and not isinstance(value, Mapping):
        if (end := toml_spans.end_of_table(text, at[:-1])) is not None:
            return newline + _line(at[-1], value), end
        at, value = at[:-1], {at[-1]: value}
    if isinstance(value, Mapping):
        lines = [*_table(at, value), ""]
        return ended + (newline if text else "") + newline.join(lines), len(text)
    offset = _first_statement(text)
    lead = ended if offset == len(text) else ""
    return lead + _line(at[0], value) + newline, offset


def _first_statement(text: str) -> int:
    offset = 0
    for line in text.splitlines(keepends=True):
        if line.strip() and not line.lstrip().startswith("#"):
            return offset
        offset += len(line)
    return offset


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _table(at: Sequence[str], value: Mapping[str, Any]) -> list[str]:
    return [f"[{_dotted(at)}]", *(_line(key, each) for key, each in value.items())]


def _dotted(at: Sequence[str]) -> str:
    return ".".join(tomlkit.key(key).as_string() for key in at)


def _line(key: str, value: Any) -> str:
    return f"{key} = {_inline(value)}"


def _inline(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(_line(key, each) for key, each in value.items()) + " }"
    return str(tomlkit.item(value).as_string())


def _rewritten(text: str, at: Sequence[str], value: Any, wanted: dict[str, Any]) -> str:
    try:
        parsed = tomlkit.parse(text)
        holder: Any = parsed
        for key in at[:-1]:
            if key not in holder:
                holder[key] = tomlkit.table(is_super_table=True)
            holder = holder[key]
        holder[at[-1]] = value
        return _agreed(tomlkit.dumps(parsed), wanted, at)
    except (TOMLKitError, TypeError, AttributeError):
        raise _wrong(at) from None


def _agreed(text: str, wanted: dict[str, Any], at: Sequence[str]) -> str:
    if not _says(text, wanted):
        raise _wrong(at)
    return text


def _wrong(at: Sequence[str]) -> errors.Conflict:
    place = ".".join(at)
    return errors.Conflict(f"{place} can not be changed without changing something else", place=place)


def _says(text: str, wanted: dict[str, Any]) -> bool:
    try:
        return tomllib.loads(text) == wanted
    except tomllib.TOMLDecodeError:
        return False


def _known(document: Mapping[str, Any], at: Sequence[str]) -> int:
    """How many of the keys are there."""
    holder: Any = document
    for depth, key in enumerate(at):
        if not isinstance(holder, Mapping):
            raise _wrong(at[:depth])
        if key not in holder:
            return depth
        holder = holder[key]
    return len(at)


def _reached(document: Any, at: Sequence[str]) -> Any:
    for key in at:
        document = document[key]
    return document


def _with(document: dict[str, Any], at: Sequence[str], value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(document)
    holder = changed
    for key in at[:-1]:
        holder = holder.setdefault(key, {})
    holder[at[-1]] = value
    return changed


def _without(document: dict[str, Any], edit: Edit) -> dict[str, Any]:
    changed = copy.deepcopy(document)
    del _reached(changed, edit.at[:-1])[edit.at[-1]]
    for level in range(len(edit.at) - 1, edit.made, -1):
        if not _reached(changed, edit.at[:level]):
            del _reached(changed, edit.at[: level - 1])[edit.at[level - 1]]
    return changed
