"""Where entries stand in a TOML document: the parser tells what a document says, not where."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_LINES = re.compile(r"[^\n]*\n|[^\n]+")

Keys = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Statement:
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

    def is_of(self, at: Keys) -> bool:
        return all(keys[: len(at)] == at for keys in self.leaves or (self.table,))


def span(text: str, at: Sequence[str]) -> tuple[Statement, Statement] | None:
    """The first and the last statement of the entry at these keys, if nothing else stands between them."""
    every = _statements(text)
    places = [place for place, each in enumerate(every) if each.is_of(tuple(at))]
    if not places or places[-1] - places[0] + 1 != len(places):
        return None
    return every[places[0]], every[places[-1]]


def end_of_table(text: str, at: Sequence[str]) -> int | None:
    """Where the table at these keys can be given one more key; nowhere if no header opens it."""
    own = [each for each in _statements(text) if each.table == tuple(at)]
    return own[-1].end if own and own[0].is_header else None


def _statements(text: str) -> list[Statement]:
    found: list[Statement] = []
    table: Keys = ()
    start = end = 0
    for line in _LINES.findall(text):
        end += len(line)
        said = _said(text[start:end])
        if said is None:
            continue
        shown = start + len(text[start:end].rstrip("\r\n"))
        if text[start:end].lstrip().startswith("["):
            table = _opened(said, start)
            found.append(Statement(start, shown, table, frozenset()))
        elif said:
            found.append(Statement(start, shown, table, frozenset((*table, *keys) for keys in _leaves(said))))
        start = end
    return found


def _said(piece: str) -> dict[str, Any] | None:
    """Nothing while a value goes on in the next line."""
    try:
        return tomllib.loads(piece)
    except tomllib.TOMLDecodeError:
        return None


def _opened(said: Any, start: int) -> Keys:
    keys: list[str] = []
    while said:
        ((key, said),) = said.items()
        keys.append(key)
        if isinstance(said, list):
            return (*keys, f"[{start}]")
    return tuple(keys)


def _leaves(said: Any) -> list[Keys]:
    if not isinstance(said, Mapping) or not said:
        return [()]
    return [(key, *rest) for key, each in said.items() for rest in _leaves(each)]
