"""Adds to a JSON document and undoes that; every other byte stays as it is."""

import json
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import structs

from commonplace import errors
from commonplace.client.install import jsonc
from commonplace.client.install.hook_commands import list_hook_commands
from commonplace.client.install.jsonc import JsonItem, JsonValue
from commonplace.client.install.setting_edits import AppliedEdit

_BLANKS = b" \t\r\n"

SpanReplacement = tuple[int, int, bytes]


@dataclass(frozen=True, slots=True)
class _Layout:
    """The document's indentation and line ends, so that additions look like the rest."""

    text: bytes
    newline: bytes
    unit: bytes
    flat: bool


def put_value(text: bytes, at: Sequence[str], value: Any) -> tuple[bytes, AppliedEdit]:
    """The text with the value at these keys, and the applied edit."""
    root, existing = _find_value(text, at)
    if existing is None:
        return _insert_missing(text, root, at, value, AppliedEdit("put", list(at), value))
    edit = AppliedEdit("put", list(at), value, made=len(at))
    if existing.to_python() == value:
        return text, edit
    edit.before = text[existing.start : existing.end].decode()
    return _replace_spans(
        text, [(existing.start, existing.end, _render_in_place(text, existing, value))]
    ), edit


def ensure_value(text: bytes, at: Sequence[str], value: Any) -> tuple[bytes, AppliedEdit]:
    """The text with a value at these keys; an existing value is kept."""
    _, existing = _find_value(text, at)
    if existing is not None:
        return text, AppliedEdit("ensure", list(at), existing.to_python(), made=len(at))
    changed, edit = put_value(text, at, value)
    edit.act = "ensure"
    return changed, edit


def append_element(
    text: bytes, at: Sequence[str], value: Any, earlier: Any = None
) -> tuple[bytes, AppliedEdit]:
    """The text with the element in the array at these keys, replacing those that we added earlier.

    An element that runs the same command counts as ours. One that the user has changed stays until we want another.
    """
    root, array = _find_value(text, at)
    if array is None:
        return _insert_missing(text, root, at, [value], AppliedEdit("append", list(at), value))
    if array.kind != "array":
        raise _shape_conflict(at, array)
    edit = AppliedEdit("append", list(at), value, made=len(at))
    elements = [item.value.to_python() for item in array.items]
    ours = [element for element in elements if _is_ours(element, value, earlier)]
    if ours == [value] or (ours and earlier == value and value not in ours):
        return text, edit
    if earlier is None and len(ours) == len(elements) > 0:
        edit.made -= 1  # an array with nothing else in it was made by a version whose record is lost
    if len(ours) == 1 and (ours[0] == earlier or _has_one_command(ours[0])):
        old = array.items[elements.index(ours[0])]
        return _replace_spans(text, [(old.start, old.end, _render_in_place(text, old.value, value))]), edit
    if ours:
        for removed in [value] if earlier is None else [earlier, value]:
            text = _remove_elements(text, AppliedEdit("append", list(at), removed, made=len(at)))
        text, added = append_element(text, at, value)
        return text, structs.replace(added, made=edit.made)
    return _add_item(text, array, "", value, edit), edit


def remove_strays(text: bytes, at: Sequence[str], value: Any, kept: Container[str] = ()) -> bytes:
    """The text without elements that run the command of `value` in the arrays of the object at these keys.

    Arrays under the keys in `kept` are left alone.
    """
    if not list_hook_commands(value):
        return text
    _, holder = _find_value(text, at) if at else (None, jsonc.parse(text))
    for key in [item.key for item in holder.items] if holder and holder.kind == "object" else ():
        if key not in kept and _has_stray(text, [*at, key], value):
            text = undo_edit(text, AppliedEdit("append", [*at, key], value, made=len(at)))
    return text


def _has_stray(text: bytes, at: Sequence[str], value: Any) -> bool:
    _, array = _find_value(text, at)
    elements = array.items if array and array.kind == "array" else ()
    return any(_runs_same_command(item.value.to_python(), value) for item in elements)


def _is_ours(element: Any, value: Any, earlier: Any) -> bool:
    wanted = [value] if earlier is None else [value, earlier]
    return element in wanted or any(_runs_same_command(element, ours) for ours in wanted)


def _has_one_command(element: Any) -> bool:
    return len(list_hook_commands(element)) == 1


def undo_edit(text: bytes, edit: AppliedEdit) -> bytes:
    """The text without what the edit added, whatever else has changed since."""
    root = jsonc.parse(text)
    path = _find_path(root, edit.at)
    if path is None:
        return text
    if edit.act == "append":
        return _remove_empty_containers(_remove_elements(text, edit), edit, len(edit.at))
    holder, value = path[-1]
    if edit.act == "ensure" and (len(holder.items) > 1 or holder.comments):
        return text
    if edit.before is not None:
        return _replace_spans(text, [(value.start, value.end, edit.before.encode())])
    return _remove_empty_containers(_remove_member(text, edit, len(edit.at) - 1), edit, len(edit.at) - 1)


def is_empty_json(text: bytes) -> bool:
    """Whether the document has neither members nor comments."""
    shown = text.strip(_BLANKS)
    return shown[:1] + shown[-1:] == b"{}" and not shown[1:-1].strip(_BLANKS)


def _find_value(text: bytes, at: Sequence[str]) -> tuple[JsonValue, JsonValue | None]:
    root = jsonc.parse(text)
    path = _find_path(root, at)
    return root, path[-1][1] if path else None


def _find_path(root: JsonValue, at: Sequence[str]) -> list[tuple[JsonValue, JsonValue]] | None:
    """Each container with the value in it along the keys; None if a key is missing."""
    holder, steps = root, []
    for depth, key in enumerate(at):
        if holder.kind != "object":
            raise _shape_conflict(at[:depth], holder)
        member = holder.find_member(key)
        if member is None:
            return None
        steps.append((holder, member.value))
        holder = member.value
    return steps


def _shape_conflict(at: Sequence[str], value: JsonValue) -> errors.Conflict:
    keys = ".".join(at) or "the document"
    return errors.Conflict(f"{keys} does not have the type that this agent expects", start=value.start)


def _insert_missing(
    text: bytes, root: JsonValue, at: Sequence[str], value: Any, edit: AppliedEdit
) -> tuple[bytes, AppliedEdit]:
    """Add the first missing key with everything below it."""
    holder, depth = root, 0
    while (member := holder.find_member(at[depth])) is not None:
        holder, depth = member.value, depth + 1
    for key in reversed(at[depth + 1 :]):
        value = {key: value}
    edit.made = depth
    return _add_item(text, holder, at[depth], value, edit), edit


def _add_item(text: bytes, holder: JsonValue, key: str, value: Any, edit: AppliedEdit) -> bytes:
    layout = _detect_layout(text)
    if holder.items:
        return _add_after_last(layout, holder, key, value)
    return _add_to_empty(layout, holder, key, value, edit)


def _add_after_last(layout: _Layout, holder: JsonValue, key: str, value: Any) -> bytes:
    last = holder.items[-1]
    anchor = last.end if last.comma is None else last.comma + 1
    anchor, broken = _skip_comments(layout.text, holder, anchor)
    indent = _own_indent(layout.text, last.start)
    if indent is None and broken:
        indent = _line_indent(layout.text, holder.start) + layout.unit
    lead = b" " if indent is None else layout.newline + indent
    member = lead + _render_item(layout, key, value, indent)
    if last.comma is not None:
        return _replace_spans(layout.text, [(anchor, anchor, member + b",")])
    return _replace_spans(layout.text, [(last.end, last.end, b","), (anchor, anchor, member)])


def _add_to_empty(layout: _Layout, holder: JsonValue, key: str, value: Any, edit: AppliedEdit) -> bytes:
    start, end = holder.start + 1, holder.end - 1
    inside = layout.text[start:end]
    outer = _line_indent(layout.text, holder.start)
    indent = None if layout.flat else outer + layout.unit
    if not inside.strip(_BLANKS):
        edit.inside = inside.decode()
        around = (b"", b"") if indent is None else (layout.newline + indent, layout.newline + outer)
        return _replace_spans(
            layout.text, [(start, end, around[0] + _render_item(layout, key, value, indent) + around[1])]
        )
    content = start + len(inside.rstrip(_BLANKS))
    if b"\n" not in layout.text[content:end]:
        return _replace_spans(
            layout.text, [(content, content, b" " + _render_item(layout, key, value, None))]
        )
    lead = layout.newline + (indent or b"")
    return _replace_spans(layout.text, [(content, content, lead + _render_item(layout, key, value, indent))])


def _skip_comments(text: bytes, holder: JsonValue, anchor: int) -> tuple[int, bool]:
    """The position after comments on the same line, and whether the last one ends the line."""
    broken = False
    for start, end in holder.comments:
        between = text[anchor:start]
        if start >= anchor and not between.strip(_BLANKS) and b"\n" not in between:
            anchor, broken = end, text[start : start + 2] == b"//"
    return anchor, broken


def _remove_member(text: bytes, edit: AppliedEdit, depth: int) -> bytes:
    path = _find_path(jsonc.parse(text), edit.at[: depth + 1])
    if path is None:
        return text
    holder = path[-1][0]
    member = holder.find_member(edit.at[depth])
    return (
        text if member is None else _remove_item(text, holder, member, edit if depth == edit.made else None)
    )


def _remove_elements(text: bytes, edit: AppliedEdit) -> bytes:
    """The text without the element and without every element that runs its command."""
    while True:
        _, holder = _find_value(text, edit.at)
        shorter = _remove_first_match(text, holder, edit) if holder and holder.kind == "array" else text
        if shorter == text:
            return text
        text = shorter


def _remove_first_match(text: bytes, holder: JsonValue, edit: AppliedEdit) -> bytes:
    emptied = edit if edit.made == len(edit.at) else None
    for item in holder.items:
        element = item.value.to_python()
        if element != edit.value and not _runs_same_command(element, edit.value):
            continue
        group = item.value.find_member("hooks") if item.value.kind == "object" else None
        if element == edit.value or group is None or len(group.value.items) == 1:
            return _remove_item(text, holder, item, emptied)
        ours = next(
            handler
            for handler in group.value.items
            if _runs_same_command(handler.value.to_python(), edit.value)
        )
        return _remove_item(text, group.value, ours, None)
    return text


def _runs_same_command(element: Any, value: Any) -> bool:
    """Whether both run the same command."""
    return not set(list_hook_commands(value)).isdisjoint(list_hook_commands(element))


def _remove_empty_containers(text: bytes, edit: AppliedEdit, depth: int) -> bytes:
    """Remove, from the inside out, containers that were made for the edit and are empty now."""
    for level in range(depth - 1, edit.made - 1, -1):
        path = _find_path(jsonc.parse(text), edit.at[: level + 1])
        if path is None or path[-1][1].items or path[-1][1].comments:
            return text
        text = _remove_member(text, edit, level)
    return text


def _remove_item(text: bytes, holder: JsonValue, item: JsonItem, edit: AppliedEdit | None) -> bytes:
    index = holder.items.index(item)
    cuts: list[SpanReplacement] = [(_blanks_start(text, holder, item), item.end, b"")]
    if item.comma is not None:
        cuts.append((item.comma, item.comma + 1, b""))
    elif index:
        before = holder.items[index - 1].comma or 0
        cuts.insert(0, (before, before + 1, b""))
    if len(holder.items) == 1 and edit is not None and edit.inside is not None and not holder.comments:
        cuts = [(holder.start + 1, holder.end - 1, edit.inside.encode())]
    return _replace_spans(text, cuts)


def _blanks_start(text: bytes, holder: JsonValue, item: JsonItem) -> int:
    """The start of the whitespace before the item; whitespace before a comment belongs to the comment."""
    ends = [holder.start + 1, *(end for _, end in holder.comments if end <= item.start)]
    ends += [sibling.end for sibling in holder.items if sibling.end <= item.start]
    return max(len(text[: item.start].rstrip(_BLANKS)), *ends)


def _replace_spans(text: bytes, cuts: Sequence[SpanReplacement]) -> bytes:
    """The text with each span replaced; two replacements at one position keep their order."""
    parts, position = [], 0
    for start, end, replacement in sorted(cuts, key=lambda cut: cut[0]):
        parts += [text[position:start], replacement]
        position = end
    return b"".join([*parts, text[position:]])


def _detect_layout(text: bytes) -> _Layout:
    root = jsonc.parse(text)
    newline = b"\r\n" if b"\r\n" in text else b"\n"
    indents = [_own_indent(text, item.start) for item in root.items]
    unit = next((indent for indent in indents if indent), b"  ")
    return _Layout(text, newline, unit, bool(root.items) and b"\n" not in text[root.start : root.end])


def _own_indent(text: bytes, start: int) -> bytes | None:
    """The whitespace before this position, if there is nothing else on its line."""
    lead = text[text.rfind(b"\n", 0, start) + 1 : start]
    return lead if not lead.strip(_BLANKS) and b"\n" in text[:start] else None


def _line_indent(text: bytes, start: int) -> bytes:
    line = text[text.rfind(b"\n", 0, start) + 1 :]
    return line[: len(line) - len(line.lstrip(b" \t"))]


def _render_in_place(text: bytes, old: JsonValue, value: Any) -> bytes:
    layout = _detect_layout(text)
    flat = b"\n" not in text[old.start : old.end]
    return _render_item(layout, "", value, None if flat else _line_indent(text, old.start))


def _render_item(layout: _Layout, key: str, value: Any, indent: bytes | None) -> bytes:
    """The item as text, on one line if `indent` is None."""
    name = json.dumps(key, ensure_ascii=False) + ": " if key else ""
    if indent is None:
        return (name + json.dumps(value, ensure_ascii=False)).encode()
    shown = name + json.dumps(value, ensure_ascii=False, indent=layout.unit.decode())
    return shown.encode().replace(b"\n", layout.newline + indent)
