"""Where entries stand in a TOML document: the parser tells what a document says, not where."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_LINES = re.compile(r"[^\n]*\n|[^\n]+")

Keys = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TomlStatement:
    """A header, or a key with its value; remarks and blank lines are none. Its line's end is no part of it."""

    start: int
    end: int
    table: Keys
    """The table that it opens or stands in; one of an array has a key that no other has."""
    leaves: frozenset[Keys]
    """Every key that it gives a value, from the document's root; none if it is a header."""

    @property
    def is_header(self) -> bool:
        return not self.leaves

    def is_part_of(self, at: Keys) -> bool:
        return all(keys[: len(at)] == at for keys in self.leaves or (self.table,))


def find_span(text: str, at: Sequence[str]) -> tuple[TomlStatement, TomlStatement] | None:
    """The first and the last statement of the entry at these keys, if nothing else stands between them."""
    every = _split_statements(text)
    places = [place for place, each in enumerate(every) if each.is_part_of(tuple(at))]
    if not places or places[-1] - places[0] + 1 != len(places):
        return None
    return every[places[0]], every[places[-1]]


def find_table_end(text: str, at: Sequence[str]) -> int | None:
    """Where the table at these keys can be given one more key; nowhere if no header opens it."""
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
    """Nothing while a value goes on in the next line."""
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
