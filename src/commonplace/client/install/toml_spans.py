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
    statements = _split_statements(text)
    indexes = [index for index, statement in enumerate(statements) if statement.is_part_of(tuple(at))]
    if not indexes or indexes[-1] - indexes[0] + 1 != len(indexes):
        return None
    return statements[indexes[0]], statements[indexes[-1]]


def find_table_end(text: str, at: Sequence[str]) -> int | None:
    """Where a key can be added to the table at these keys; None if it has no header."""
    own = [statement for statement in _split_statements(text) if statement.table == tuple(at)]
    return own[-1].end if own and own[0].is_header else None


def _split_statements(text: str) -> list[TomlStatement]:
    statements: list[TomlStatement] = []
    table: Keys = ()
    start = end = 0
    for line in _LINES.findall(text):
        end += len(line)
        parsed = _parse_piece(text[start:end])
        if parsed is None:
            continue
        shown = start + len(text[start:end].rstrip("\r\n"))
        if text[start:end].lstrip().startswith("["):
            table = _opened_table(parsed, start)
            statements.append(TomlStatement(start, shown, table, frozenset()))
        elif parsed:
            statements.append(
                TomlStatement(
                    start, shown, table, frozenset((*table, *keys) for keys in _list_leaves(parsed))
                )
            )
        start = end
    return statements


def _parse_piece(piece: str) -> dict[str, Any] | None:
    """The parsed piece; None while a value continues on the next line."""
    try:
        return tomllib.loads(piece)
    except tomllib.TOMLDecodeError:
        return None


def _opened_table(parsed: Any, start: int) -> Keys:
    keys: list[str] = []
    while parsed:
        ((key, parsed),) = parsed.items()
        keys.append(key)
        if isinstance(parsed, list):
            return (*keys, f"[{start}]")
    return tuple(keys)


def _list_leaves(parsed: Any) -> list[Keys]:
    if not isinstance(parsed, Mapping) or not parsed:
        return [()]
    return [(key, *rest) for key, inner in parsed.items() for rest in _list_leaves(inner)]
