"""Adds to a TOML document and undoes that; every other byte stays as it is.

tomlkit does not restore the original text when an entry is added and removed again. So entries are edited as text
wherever that gives the wanted document, and with tomlkit only where it does not.
"""

import copy
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from commonplace import errors
from commonplace.client.install import toml_spans
from commonplace.client.install.setting_edits import AppliedEdit


def put_toml_value(text: str, at: Sequence[str], value: Any) -> tuple[str, AppliedEdit]:
    """The text with the value at these keys, and the applied edit."""
    document = tomllib.loads(text)
    edit = AppliedEdit("put", list(at), value, made=_count_known_keys(document, at))
    there = edit.made == len(at)
    if there and _value_at(document, at) == value:
        return text, edit
    wanted = _document_with(document, at, value)
    changed = _replace_entry(text, edit) if there else _add_entry(text, edit)
    if changed is not None and _parses_to(changed, wanted):
        return changed, edit
    edit.entry, edit.before, edit.text = None, text, _rewrite_document(text, at, value, wanted)
    return edit.text, edit


def undo_toml_edit(text: str, edit: AppliedEdit) -> str:
    """The text without what the edit added, whatever else has changed since."""
    if edit.before is not None and text == edit.text:
        return edit.before
    document = tomllib.loads(text)
    if _count_known_keys(document, edit.at) < len(edit.at):
        return text
    if edit.entry is not None and (restored := _restore_entry(text, document, edit)):
        return restored
    replaced = tomllib.loads(edit.entry or edit.before or "")
    for depth in range(len(edit.at)):  # an entry may be below the header of its table
        if _count_known_keys(replaced, edit.at[depth:]) == len(edit.at) - depth:
            value = _value_at(replaced, edit.at[depth:])
            return _rewrite_document(text, edit.at, value, _document_with(document, edit.at, value))
    return _remove_entry(text, document, edit)


def _replace_entry(text: str, edit: AppliedEdit) -> str | None:
    """Replace the entry's value, in the entry's own style."""
    if (span := toml_spans.find_span(text, edit.at)) is None:
        return None
    first, last = span
    edit.entry = text[first.start : last.end]
    if first.is_header:
        lines = _render_table(edit.at, edit.value)
    else:
        lines = [f"{_render_key(edit.at[len(first.table) :])} = {_render_inline(edit.value)}"]
    return text[: first.start] + _detect_newline(text).join(lines) + text[last.end :]


def _restore_entry(text: str, document: dict[str, Any], edit: AppliedEdit) -> str | None:
    """Put back the original text of the entry."""
    span = toml_spans.find_span(text, edit.at)
    if span is None or edit.entry is None:
        return None
    restored = text[: span[0].start] + edit.entry + text[span[1].end :]
    return restored if _is_same_beside(restored, document, edit.at) else None


def _is_same_beside(text: str, document: dict[str, Any], at: Sequence[str]) -> bool:
    """Whether everything but the entry is as in the document."""
    try:
        restored = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return _count_known_keys(restored, at) == len(at) and _document_with(
        restored, at, None
    ) == _document_with(document, at, None)


def _remove_entry(text: str, document: dict[str, Any], edit: AppliedEdit) -> str:
    wanted = _document_without(document, edit)
    index = text.find(edit.text) if edit.text else -1
    while edit.text and index >= 0:
        rest = text[:index] + text[index + len(edit.text) :]
        if _parses_to(rest, wanted):
            return rest
        index = text.find(edit.text, index + 1)
    parsed = tomlkit.parse(text)
    del _value_at(parsed, edit.at[:-1])[edit.at[-1]]
    for level in range(len(edit.at) - 1, edit.made, -1):
        if not _value_at(parsed, edit.at[:level]):
            del _value_at(parsed, edit.at[: level - 1])[edit.at[level - 1]]
    return _require_document(tomlkit.dumps(parsed), wanted, edit.at)


def _add_entry(text: str, edit: AppliedEdit) -> str:
    edit.text, offset = _plan_addition(text, edit.at, edit.value)
    return text[:offset] + edit.text + text[offset:]


def _plan_addition(text: str, at: Sequence[str], value: Any) -> tuple[str, int]:
    """What to add and where: a table at the end, a top-level key before the first statement."""
    newline = _detect_newline(text)
    ended = newline if text and not text.endswith("\n") else ""
    if len(at) > 1 and not isinstance(value, Mapping):
        if (end := toml_spans.find_table_end(text, at[:-1])) is not None:
            return newline + _render_line(at[-1], value), end
        at, value = at[:-1], {at[-1]: value}
    if isinstance(value, Mapping):
        lines = [*_render_table(at, value), ""]
        return ended + (newline if text else "") + newline.join(lines), len(text)
    offset = _find_first_statement(text)
    lead = ended if offset == len(text) else ""
    return lead + _render_line(at[0], value) + newline, offset


def _find_first_statement(text: str) -> int:
    offset = 0
    for line in text.splitlines(keepends=True):
        if line.strip() and not line.lstrip().startswith("#"):
            return offset
        offset += len(line)
    return offset


def _detect_newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _render_table(at: Sequence[str], value: Mapping[str, Any]) -> list[str]:
    return [f"[{_render_key(at)}]", *(_render_line(key, item) for key, item in value.items())]


def _render_key(at: Sequence[str]) -> str:
    return ".".join(tomlkit.key(key).as_string() for key in at)


def _render_line(key: str, value: Any) -> str:
    return f"{key} = {_render_inline(value)}"


def _render_inline(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(_render_line(key, item) for key, item in value.items()) + " }"
    return str(tomlkit.item(value).as_string())


def _rewrite_document(text: str, at: Sequence[str], value: Any, wanted: dict[str, Any]) -> str:
    try:
        parsed = tomlkit.parse(text)
        holder: Any = parsed
        for key in at[:-1]:
            if key not in holder:
                holder[key] = tomlkit.table(is_super_table=True)
            holder = holder[key]
        holder[at[-1]] = value
        return _require_document(tomlkit.dumps(parsed), wanted, at)
    except (TOMLKitError, TypeError, AttributeError):
        raise _change_conflict(at) from None


def _require_document(text: str, wanted: dict[str, Any], at: Sequence[str]) -> str:
    if not _parses_to(text, wanted):
        raise _change_conflict(at)
    return text


def _change_conflict(at: Sequence[str]) -> errors.Conflict:
    keys = ".".join(at)
    return errors.Conflict(f"{keys} cannot be changed without changing something else", place=keys)


def _parses_to(text: str, wanted: dict[str, Any]) -> bool:
    try:
        return tomllib.loads(text) == wanted
    except tomllib.TOMLDecodeError:
        return False


def _count_known_keys(document: Mapping[str, Any], at: Sequence[str]) -> int:
    """How many of the keys exist."""
    holder: Any = document
    for depth, key in enumerate(at):
        if not isinstance(holder, Mapping):
            raise _change_conflict(at[:depth])
        if key not in holder:
            return depth
        holder = holder[key]
    return len(at)


def _value_at(document: Any, at: Sequence[str]) -> Any:
    for key in at:
        document = document[key]
    return document


def _document_with(document: dict[str, Any], at: Sequence[str], value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(document)
    holder = changed
    for key in at[:-1]:
        holder = holder.setdefault(key, {})
    holder[at[-1]] = value
    return changed


def _document_without(document: dict[str, Any], edit: AppliedEdit) -> dict[str, Any]:
    changed = copy.deepcopy(document)
    del _value_at(changed, edit.at[:-1])[edit.at[-1]]
    for level in range(len(edit.at) - 1, edit.made, -1):
        if not _value_at(changed, edit.at[:level]):
            del _value_at(changed, edit.at[: level - 1])[edit.at[level - 1]]
    return changed
