"""Which rows of an index can meet a path: those above it, at it and below it.

The indexed text is what `paths.first_literal_segments` gives: folded segments, each followed by `/`. It is folded
whether or not the project ignores case, so that the project may change its mind; the exact comparison follows.
"""

from collections.abc import Iterable, Sequence

from commonplace.rooms.locks import paths
from commonplace.store.database import Value


def of_pattern(path: str) -> str:
    return paths.first_literal_segments(paths.parse(path, (), True))


def of_name(path: str) -> str:
    """The same for a path that is read as a plain name."""
    return paths.first_literal_segments(paths.parse(path, (path,), True))


def above(text: str) -> list[str]:
    """The text itself and those of every directory above it: `a/b/` gives ``, `a/`, `a/b/`."""
    ends = [place + 1 for place, letter in enumerate(text) if letter == "/"]
    return [text[:end] for end in (0, *ends)]


def near(a: str, b: str) -> bool:
    return a.startswith(b) or b.startswith(a)


Condition = tuple[str, list[Value]]


def conditions(column: str, first: int, texts: Iterable[str], below: Iterable[str]) -> list[Condition]:
    """At or above any of `texts`; and below any of `below`. Parameters count from `$first`.

    These are for two statements, since joined by `or` no index of SQLite serves both; a row may meet both.
    """
    outer = _outermost(below)
    if "" in outer:
        return [(f"{column} >= ${first}", [""])]
    ancestors = sorted({each for text in texts for each in above(text)})
    at_or_above: Condition = (f"{column} = any(${first})", [ancestors])
    return [at_or_above, _below(column, first, outer)] if outer else [at_or_above]


def _below(column: str, first: int, outer: Sequence[str]) -> Condition:
    parts: list[str] = []
    values: list[Value] = []
    for text in _padded(outer):
        place = first + len(values)
        parts.append(f"{column} > ${place} and {column} < ${place + 1}")
        values += [text, text[:-1] + "0"]  # "0" follows "/" in bytes
    return "(" + " or ".join(parts) + ")", values


def _outermost(texts: Iterable[str]) -> list[str]:
    kept: list[str] = []
    for text in sorted(set(texts)):
        if not kept or not text.startswith(kept[-1]):
            kept.append(text)
    return kept


def _padded(texts: Sequence[str]) -> list[str]:
    """Fill up to a power of two, so that there are few statements to prepare."""
    size = 1 << (len(texts) - 1).bit_length()
    return [*texts, *[texts[-1]] * (size - len(texts))]
