"""Fits what a starting session is told into its budget: most valuable first, lists item by item.

A token is estimated as four bytes of the encoded reply. Room for saying what was left out is kept from the
beginning, so the reply is within the budget whatever the sections hold.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from commonplace.rooms.sessions.model import Started

BYTES_PER_TOKEN = 4
_OMITTED = len(',"omitted":{}')
_TRUNCATED = len(',"truncated":true')
_ELLIPSIS = "…"
_SHORTEST = 40


@dataclass(frozen=True, slots=True)
class Part:
    name: str
    rank: int
    value: Any

    @property
    def most_omitted(self) -> int:
        if isinstance(self.value, dict):
            return 1 + sum(len(each) for each in self.value.values() if isinstance(each, list))
        return len(self.value) if isinstance(self.value, list) else 1

    @property
    def note_size(self) -> int:
        """What saying that this was cut can cost at most."""
        return len(f'"{self.name}":{self.most_omitted},')


@dataclass(slots=True)
class _Pack:
    room: int
    filled: dict[str, Any] = field(default_factory=dict)
    omitted: dict[str, int] = field(default_factory=dict)

    def put(self, part: Part, share: int) -> None:
        """Take the whole part, else as much as fits into a share of the room beside the note that it was cut."""
        self.room += part.note_size
        around = len(f'"{part.name}":,')
        value, left = part.value, 0
        if around + _size(value) > self.room:
            self.room -= part.note_size
            value, left = _shrunk(value, self.room // share - around)
            self.omitted[part.name] = left
        if value:
            self.filled[part.name] = value
            self.room -= around + _size(value)

    def put_again(self, part: Part) -> None:
        """What was cut for the sake of the others gets the room that they left."""
        if part.name in self.filled:
            self.room += len(f'"{part.name}":,') + _size(self.filled.pop(part.name))
        del self.omitted[part.name]
        self.put(part, 1)


def packed(known: Started, parts: Sequence[Part], token_budget: int) -> Started:
    """The reply with as much of the parts as the budget allows."""
    told = [Part(part.name, part.rank, msgspec.to_builtins(part.value)) for part in parts]
    told = sorted((part for part in told if part.value), key=lambda part: part.rank)
    notes = sum(part.note_size for part in told)
    pack = _Pack(token_budget * BYTES_PER_TOKEN - _size(known) - _OMITTED - notes)
    for part in told:
        pack.put(part, 2)
    for part in [part for part in told if part.name in pack.omitted]:
        pack.put_again(part)
    return msgspec.structs.replace(known, **pack.filled, omitted=pack.omitted)


def _size(value: Any) -> int:
    return len(msgspec.json.encode(value))


def _shrunk(value: Any, room: int) -> tuple[Any, int]:
    """As much of the value as fits, and how many items of it do not."""
    if isinstance(value, list):
        return _first_items(value, room)
    if isinstance(value, dict):
        return _fewer_items(value, room)
    if isinstance(value, str):
        return _cut(value, _size(value) - room), 1
    return None, 1


def _first_items(items: list[Any], room: int) -> tuple[list[Any], int]:
    used, taken = len("[]"), 0
    for item in items:
        used += _size(item) + len(",")
        if used > room:
            break
        taken += 1
    return items[:taken], len(items) - taken


def _fewer_items(fields: dict[str, Any], room: int) -> tuple[dict[str, Any] | None, int]:
    """Lists lose their last items before a text is cut."""
    kept, left = dict(fields), 0
    for name, items in fields.items():
        over = _size(kept) - room
        if over > 0 and isinstance(items, list):
            first, cut = _first_items(items, _size(items) - over)
            kept[name], left = first, left + cut
            if not first:
                del kept[name]
    if _size(kept) <= room:
        return kept, left
    return _with_shorter_text(kept, room), left + 1


def _with_shorter_text(fields: dict[str, Any], room: int) -> dict[str, Any] | None:
    longest = max(
        (name for name in fields if isinstance(fields[name], str)),
        key=lambda name: len(fields[name]),
        default="",
    )
    text = _cut(fields[longest], _size(fields) - room + _TRUNCATED) if longest else None
    return fields | {longest: text, "truncated": True} if text else None


def _cut(text: str, over: int) -> str | None:
    """A character is at least one byte, so leaving out as many characters as there are bytes too many is enough."""
    length = len(text) - over - len(_ELLIPSIS.encode())
    return text[:length].rstrip() + _ELLIPSIS if length >= _SHORTEST else None
