"""Which fields changed between two versions of a spec, in one line: what may break a reader comes first.

`fields -voucher, total: number -> string, now required: currency, +vouchers: array`. The fields of a version: `fields.py`;
the lines of its text: `changes.py`.
"""

import difflib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from commonplace.rooms.specs.fields import (
    Fields,
    FieldShape,
    find_parent,
    list_content_fields,
    list_schema_fields,
)
from commonplace.shortening import shorten_line
from commonplace.store.database import Row

_MAX_PART_CHARACTERS = 120
_MIN_NAME_LIKENESS = 0.6
_MAX_RENAMES_COMPARED = 20
_MAX_NAME_COMPARED = 60
_ADDED_MARK = "+"


class FieldChanges(NamedTuple):
    """What may break who relies on the version before, and what else changed."""

    breaking: list[str]
    other: list[str]
    is_whole_schema: bool = False
    """Whether these are changes of the schema, so that its lines need not be shown."""

    @property
    def only_requires_more(self) -> bool:
        """Is nothing that was there removed or changed? Then who only reads the object is not affected."""
        return bool(self.breaking) and all(part.startswith(_ADDED_MARK) for part in self.breaking)

    def format(self, limit: int) -> str:
        """One line of about so many characters; empty if no field changed."""
        parts = [shorten_line(part, _MAX_PART_CHARACTERS) for part in (*self.breaking, *self.other)]
        shown: list[str] = []
        for part in parts:
            if shown and sum(map(len, shown)) + 2 * len(shown) + len(part) > limit:
                break
            shown.append(part)
        more = f" and {len(parts) - len(shown)} more" if len(parts) > len(shown) else ""
        return f"fields {', '.join(shown)}{more}" if shown else ""


NO_FIELD_CHANGES = FieldChanges([], [])


def find_field_changes(old: Row, new: Row) -> FieldChanges:
    """Compare the schemas if both versions have one, else the contents: a name in prose need not be a field."""
    before, after = list_schema_fields(old), list_schema_fields(new)
    if before and after:
        changes = _compare_fields(before, after, names_required=True)
        return changes._replace(is_whole_schema=True) if changes != NO_FIELD_CHANGES else changes
    if old["content"] == new["content"]:
        return NO_FIELD_CHANGES
    return _compare_fields(list_content_fields(old), list_content_fields(new))


def _compare_fields(old: Fields, new: Fields, *, names_required: bool = False) -> FieldChanges:
    if not old or not new:
        return NO_FIELD_CHANGES
    retyped = {path for path in old if path in new and _is_retyped(old[path], new[path])}
    removed = _list_topmost([path for path in old if path not in new], retyped)
    added = _list_topmost([path for path in new if path not in old], retyped)
    renamed = _find_renames(removed, added, old, new)
    kept = [path for path in old if path in new]
    required = [path for path in kept if new[path].is_required and not old[path].is_required]
    optional = [path for path in kept if old[path].is_required and not new[path].is_required]
    come = [path for path in added if path not in renamed.values()]
    asked = {path for path in come if new[path].is_required} if names_required else set()
    breaking = [
        *(f"-{path}" for path in removed if path not in renamed),
        *(f"{path} -> {name} (renamed?)" for path, name in renamed.items()),
        *(f"{path}: {old[path].kind} -> {new[path].kind}" for path in kept if path in retyped),
        *(f"now required: {path}" for path in required),
        *(f"{_ADDED_MARK}{_name_field(path, new)} (required)" for path in come if path in asked),
    ]
    other = [
        *(f"no longer required: {path}" for path in optional),
        *(change for path in kept for change in _list_limit_changes(path, old[path], new[path])),
        *(f"{_ADDED_MARK}{_name_field(path, new)}" for path in come if path not in asked),
    ]
    return FieldChanges(breaking, other)


def _is_retyped(old: FieldShape, new: FieldShape) -> bool:
    return old.kind != new.kind and bool(old.kind and new.kind)


def _name_field(path: str, fields: Fields) -> str:
    return f"{path}: {fields[path].kind}" if fields[path].kind else path


def _list_topmost(paths: Sequence[str], also: set[str]) -> list[str]:
    """Leave out what is inside another of these, or inside of what has another type now."""
    inside = set(paths) | also
    return [path for path in paths if not any(parent in inside for parent in _list_parents(path))]


def _list_parents(path: str) -> Iterator[str]:
    while path := find_parent(path):
        yield path


def _find_renames(removed: Sequence[str], added: Sequence[str], old: Fields, new: Fields) -> dict[str, str]:
    """Pairs in one object with the same type and alike names, of which there is no other choice."""
    if max(len(removed), len(added)) > _MAX_RENAMES_COMPARED:
        return {}
    choices = {
        path: [name for name in added if old[path] == new[name] and _is_alike(path, name)] for path in removed
    }
    names = [name for found in choices.values() for name in found]
    return {
        path: found[0] for path, found in choices.items() if len(found) == 1 and names.count(found[0]) == 1
    }


def _is_alike(path: str, name: str) -> bool:
    if find_parent(path) != find_parent(name):
        return False
    start = len(find_parent(path))
    first, second = (each[start:][:_MAX_NAME_COMPARED].replace("_", "").lower() for each in (path, name))
    return difflib.SequenceMatcher(None, first, second).ratio() >= _MIN_NAME_LIKENESS


def _list_limit_changes(path: str, old: FieldShape, new: FieldShape) -> Iterator[str]:
    for word in dict.fromkeys((*old.limits, *new.limits)):
        before, after = (_format_limit(shape, word) for shape in (old, new))
        if before != after:
            yield f"{path}: {word} {before} -> {after}"


def _format_limit(shape: FieldShape, word: str) -> str:
    return msgspec.json.encode(shape.limits[word]).decode() if word in shape.limits else "none"
