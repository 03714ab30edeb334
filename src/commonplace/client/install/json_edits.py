"""Add to a JSON document and take away again; every byte that is not part of it stays."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from commonplace import errors
from commonplace.client.install import jsonc
from commonplace.client.install.jsonc import Item, Value
from commonplace.client.install.wishes import Edit

_BLANKS = b" \t\r\n"

Cut = tuple[int, int, bytes]


@dataclass(frozen=True, slots=True)
class _Layout:
    """How the document is laid out, so that what is added looks like the rest."""

    text: bytes
    newline: bytes
    unit: bytes
    flat: bool


def put(text: bytes, at: Sequence[str], value: Any) -> tuple[bytes, Edit]:
    """The text with the value at these keys; an edit that made nothing has neither `before` nor keys made."""
    root, found = _walk(text, at)
    if found is None:
        return _insert(text, root, at, value, Edit("put", list(at), value))
    edit = Edit("put", list(at), value, made=len(at))
    if found.plain() == value:
        return text, edit
    edit.before = text[found.start : found.end].decode()
    return _cut(text, [(found.start, found.end, _rewritten(text, found, value))]), edit


def ensure(text: bytes, at: Sequence[str], value: Any) -> tuple[bytes, Edit]:
    """The text with something at these keys: what is there already stays."""
    _, found = _walk(text, at)
    if found is not None:
        return text, Edit("ensure", list(at), found.plain(), made=len(at))
    changed, edit = put(text, at, value)
    edit.act = "ensure"
    return changed, edit


def append(text: bytes, at: Sequence[str], value: Any, earlier: Any = None) -> tuple[bytes, Edit]:
    """The text with the element in the array at these keys, in the place of the one that we put there earlier.

    An element that runs the same command is ours, too, whatever its user made of it.
    """
    root, found = _walk(text, at)
    if found is None:
        return _insert(text, root, at, [value], Edit("append", list(at), value))
    if found.kind != "array":
        raise _wrong(at, found)
    edit = Edit("append", list(at), value, made=len(at))
    elements = [item.value.plain() for item in found.items]
    if value in elements:
        return text, edit
    if earlier is not None and earlier in elements:
        old = found.items[elements.index(earlier)]
        return _cut(text, [(old.start, old.end, _rewritten(text, old.value, value))]), edit
    if any(_runs(element, value) for element in elements):
        return text, edit
    if any(_runs(element, earlier) for element in elements):
        rest = _without_elements(text, Edit("append", list(at), earlier, made=len(at)))
        return append(rest, at, value)
    return _add(text, found, "", value, edit), edit


def undo(text: bytes, edit: Edit) -> bytes:
    """The text without what the edit added, whatever else happened to it since."""
    root = jsonc.parse(text)
    path = _path(root, edit.at)
    if path is None:
        return text
    if edit.act == "append":
        return _shrunk(_without_elements(text, edit), edit, len(edit.at))
    holder, value = path[-1]
    if edit.act == "ensure" and (len(holder.items) > 1 or holder.comments):
        return text
    if edit.before is not None:
        return _cut(text, [(value.start, value.end, edit.before.encode())])
    return _shrunk(_without_member(text, edit, len(edit.at) - 1), edit, len(edit.at) - 1)


def is_empty(text: bytes) -> bool:
    """Nothing is in the document: no member and no comment."""
    shown = text.strip(_BLANKS)
    return shown[:1] + shown[-1:] == b"{}" and not shown[1:-1].strip(_BLANKS)


def _walk(text: bytes, at: Sequence[str]) -> tuple[Value, Value | None]:
    root = jsonc.parse(text)
    path = _path(root, at)
    return root, path[-1][1] if path else None


def _path(root: Value, at: Sequence[str]) -> list[tuple[Value, Value]] | None:
    """Each holder with the value in it, down to the end of the keys; nothing if a key is missing."""
    holder, steps = root, []
    for depth, key in enumerate(at):
        if holder.kind != "object":
            raise _wrong(at[:depth], holder)
        member = holder.member(key)
        if member is None:
            return None
        steps.append((holder, member.value))
        holder = member.value
    return steps


def _wrong(at: Sequence[str], found: Value) -> errors.Conflict:
    place = ".".join(at) or "the document"
    return errors.Conflict(f"{place} is not what this agent reads there", start=found.start)


def _insert(text: bytes, root: Value, at: Sequence[str], value: Any, edit: Edit) -> tuple[bytes, Edit]:
    """Add the first key that is missing, with all that belongs below it."""
    holder, depth = root, 0
    while (member := holder.member(at[depth])) is not None:
        holder, depth = member.value, depth + 1
    for key in reversed(at[depth + 1 :]):
        value = {key: value}
    edit.made = depth
    return _add(text, holder, at[depth], value, edit), edit


def _add(text: bytes, holder: Value, key: str, value: Any, edit: Edit) -> bytes:
    layout = _layout(text)
    if holder.items:
        return _after_the_last(layout, holder, key, value)
    return _into_empty(layout, holder, key, value, edit)


def _after_the_last(layout: _Layout, holder: Value, key: str, value: Any) -> bytes:
    last = holder.items[-1]
    anchor = last.end if last.comma is None else last.comma + 1
    anchor, broken = _past_comments(layout.text, holder, anchor)
    indent = _indent_of(layout.text, last.start)
    if indent is None and broken:
        indent = _line_indent(layout.text, holder.start) + layout.unit
    lead = b" " if indent is None else layout.newline + indent
    member = lead + _rendered(layout, key, value, indent)
    if last.comma is not None:
        return _cut(layout.text, [(anchor, anchor, member + b",")])
    return _cut(layout.text, [(last.end, last.end, b","), (anchor, anchor, member)])


def _into_empty(layout: _Layout, holder: Value, key: str, value: Any, edit: Edit) -> bytes:
    start, end = holder.start + 1, holder.end - 1
    inside = layout.text[start:end]
    outer = _line_indent(layout.text, holder.start)
    indent = None if layout.flat else outer + layout.unit
    if not inside.strip(_BLANKS):
        edit.inside = inside.decode()
        around = (b"", b"") if indent is None else (layout.newline + indent, layout.newline + outer)
        return _cut(
            layout.text, [(start, end, around[0] + _rendered(layout, key, value, indent) + around[1])]
        )
    content = start + len(inside.rstrip(_BLANKS))
    if b"\n" not in layout.text[content:end]:
        return _cut(layout.text, [(content, content, b" " + _rendered(layout, key, value, None))])
    lead = layout.newline + (indent or b"")
    return _cut(layout.text, [(content, content, lead + _rendered(layout, key, value, indent))])


def _past_comments(text: bytes, holder: Value, anchor: int) -> tuple[int, bool]:
    """After the comments that stand on the same line, and whether the last of them ends the line."""
    broken = False
    for start, end in holder.comments:
        between = text[anchor:start]
        if start >= anchor and not between.strip(_BLANKS) and b"\n" not in between:
            anchor, broken = end, text[start : start + 2] == b"//"
    return anchor, broken


def _without_member(text: bytes, edit: Edit, depth: int) -> bytes:
    path = _path(jsonc.parse(text), edit.at[: depth + 1])
    if path is None:
        return text
    holder = path[-1][0]
    member = holder.member(edit.at[depth])
    return text if member is None else _without(text, holder, member, edit if depth == edit.made else None)


def _without_elements(text: bytes, edit: Edit) -> bytes:
    """Without the element, and without all that still runs its command where it was changed or repeated since."""
    while True:
        _, holder = _walk(text, edit.at)
        shorter = _without_one(text, holder, edit) if holder and holder.kind == "array" else text
        if shorter == text:
            return text
        text = shorter


def _without_one(text: bytes, holder: Value, edit: Edit) -> bytes:
    emptied = edit if edit.made == len(edit.at) else None
    for item in holder.items:
        element = item.value.plain()
        if element != edit.value and not _runs(element, edit.value):
            continue
        group = item.value.member("hooks") if item.value.kind == "object" else None
        if element == edit.value or group is None or len(group.value.items) == 1:
            return _without(text, holder, item, emptied)
        ours = next(each for each in group.value.items if _runs(each.value.plain(), edit.value))
        return _without(text, group.value, ours, None)
    return text


def _runs(element: Any, value: Any) -> bool:
    """It runs the command that the value runs; what runs none is never the same."""
    return not set(_commands(value)).isdisjoint(_commands(element))


def _commands(value: Any) -> list[str]:
    """Every command that stands anywhere in a hook."""
    if isinstance(value, dict):
        own = [value["command"]] if isinstance(value.get("command"), str) else []
        return own + [each for inner in value.values() for each in _commands(inner)]
    return [each for inner in value for each in _commands(inner)] if isinstance(value, list) else []


def _shrunk(text: bytes, edit: Edit, depth: int) -> bytes:
    """Take away, from the inside out, the containers that were made for the edit and hold nothing any more."""
    for level in range(depth - 1, edit.made - 1, -1):
        path = _path(jsonc.parse(text), edit.at[: level + 1])
        if path is None or path[-1][1].items or path[-1][1].comments:
            return text
        text = _without_member(text, edit, level)
    return text


def _without(text: bytes, holder: Value, item: Item, edit: Edit | None) -> bytes:
    index = holder.items.index(item)
    cuts: list[Cut] = [(_lead(text, holder, item), item.end, b"")]
    if item.comma is not None:
        cuts.append((item.comma, item.comma + 1, b""))
    elif index:
        before = holder.items[index - 1].comma or 0
        cuts.insert(0, (before, before + 1, b""))
    if len(holder.items) == 1 and edit is not None and edit.inside is not None and not holder.comments:
        cuts = [(holder.start + 1, holder.end - 1, edit.inside.encode())]
    return _cut(text, cuts)


def _lead(text: bytes, holder: Value, item: Item) -> int:
    """Where the blanks before the item start; a comment's own blanks belong to the comment."""
    ends = [holder.start + 1, *(end for _, end in holder.comments if end <= item.start)]
    ends += [each.end for each in holder.items if each.end <= item.start]
    return max(len(text[: item.start].rstrip(_BLANKS)), *ends)


def _cut(text: bytes, cuts: Sequence[Cut]) -> bytes:
    """The text with each span replaced; of two at one place the first stays first."""
    parts, place = [], 0
    for start, end, replacement in sorted(cuts, key=lambda cut: cut[0]):
        parts += [text[place:start], replacement]
        place = end
    return b"".join([*parts, text[place:]])


def _layout(text: bytes) -> _Layout:
    root = jsonc.parse(text)
    newline = b"\r\n" if b"\r\n" in text else b"\n"
    indents = [_indent_of(text, item.start) for item in root.items]
    unit = next((indent for indent in indents if indent), b"  ")
    return _Layout(text, newline, unit, bool(root.items) and b"\n" not in text[root.start : root.end])


def _indent_of(text: bytes, start: int) -> bytes | None:
    """What stands before this place on its line, if that is nothing but blanks."""
    lead = text[text.rfind(b"\n", 0, start) + 1 : start]
    return lead if not lead.strip(_BLANKS) and b"\n" in text[:start] else None


def _line_indent(text: bytes, start: int) -> bytes:
    line = text[text.rfind(b"\n", 0, start) + 1 :]
    return line[: len(line) - len(line.lstrip(b" \t"))]


def _rewritten(text: bytes, old: Value, value: Any) -> bytes:
    layout = _layout(text)
    flat = b"\n" not in text[old.start : old.end]
    return _rendered(layout, "", value, None if flat else _line_indent(text, old.start))


def _rendered(layout: _Layout, key: str, value: Any, indent: bytes | None) -> bytes:
    """The value as text; on one line without an indent."""
    name = json.dumps(key, ensure_ascii=False) + ": " if key else ""
    if indent is None:
        return (name + json.dumps(value, ensure_ascii=False)).encode()
    shown = name + json.dumps(value, ensure_ascii=False, indent=layout.unit.decode())
    return shown.encode().replace(b"\n", layout.newline + indent)
