"""Positions of entries in a TOML document, which the parser does not report."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_LINES = re.compile(r"[^\n]*\n|[^\n]+")

Keys = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TomlStatement:
    """A table header or a key with its value, without its line end. Comments and blank lines are not statements."""

    start: int
    end: int
    table: Keys
    """The table that it opens or belongs to; a table of an array has a unique last key."""
    leaves: frozenset[Keys]
    """The full keys of all values that it sets; empty for a header."""

    @property
    def is_header(self) -> bool:
        return not self.leaves

    def is_part_of(self, at: Keys) -> bool:
        return all(keys[: len(at)] == at for keys in self.leaves or (self.table,))


def find_span(text: str, at: Sequence[str]) -> tuple[TomlStatement, TomlStatement] | None:
    """The first and last statement of the entry at these keys; None if other statements are between them."""
    every = _split_statements(text)
    places = [place for place, each in enumerate(every) if each.is_part_of(tuple(at))]
    if not places or places[-1] - places[0] + 1 != len(places):
        return None
    return every[places[0]], every[places[-1]]


def find_table_end(text: str, at: Sequence[str]) -> int | None:
    """Where a key can be added to the table at these keys; None if it has no header."""
    own = [each for each in _split_statements(text) if each.table == tuple(at)]
    return own[-1].end if own and own[0].is_header else None


def _split_statements(text: str) -> list[TomlStatement]:
    found: list[TomlStatement] = []
    table: Keys = ()
    start = end = 0
    for line in _LINES.findall(text):
        end += len(line)
        said = _parse_piece(text[start:end])
        if said is None:
            continue
        shown = start + len(text[start:end].rstrip("\r\n"))
        if text[start:end].lstrip().startswith("["):
            table = _opened_table(said, start)
            found.append(TomlStatement(start, shown, table, frozenset()))
        elif said:
            found.append(
                TomlStatement(start, shown, table, frozenset((*table, *keys) for keys in _list_leaves(said)))
            )
        start = end
    return found


def _parse_piece(piece: str) -> dict[str, Any] | None:
    """The parsed piece; None while a value continues on the next line."""
    try:
        return tomllib.loads(piece)
    except tomllib.TOMLDecodeError:
        return None


def _opened_table(said: Any, start: int) -> Keys:
    keys: list[str] = []
    while said:
        ((key, said),) = said.items()
        keys.append(key)
        if isinstance(said, list):
            return (*keys, f"[{start}]")
    return tuple(keys)


def _list_leaves(said: Any) -> list[Keys]:
    if not isinstance(said, Mapping) or not said:
        return [()]
    return [(key, *rest) for key, each in said.items() for rest in _list_leaves(each)]
