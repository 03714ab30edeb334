"""SQL conditions for the indexed rows that can overlap a path: those above it, at it and below it.

The indexed string is `paths.literal_prefix`: folded segments, each followed by `/`. It is folded whether or not the
project ignores case, so that the setting can change later; `paths.patterns_overlap` compares exactly afterwards.
"""

from collections.abc import Iterable, Sequence

from commonplace.rooms.locks import paths
from commonplace.store.database import Value


def prefix_of_pattern(path: str) -> str:
    return paths.literal_prefix(paths.parse_pattern(path, (), True))


def prefix_of_literal(path: str) -> str:
    """Like `prefix_of_pattern`, for a path that is read as a plain name."""
    return paths.literal_prefix(paths.parse_pattern(path, (path,), True))


def list_ancestor_prefixes(prefix: str) -> list[str]:
    """Return the prefix and those of every directory above it: `a/b/` gives ``, `a/`, `a/b/`."""
    ends = [index + 1 for index, letter in enumerate(prefix) if letter == "/"]
    return [prefix[:end] for end in (0, *ends)]


def prefixes_overlap(a: str, b: str) -> bool:
    return a.startswith(b) or b.startswith(a)


SqlCondition = tuple[str, list[Value]]


def prefix_conditions(
    column: str, first_parameter: int, prefixes: Iterable[str], subtrees: Iterable[str]
) -> list[SqlCondition]:
    """Return conditions for rows at or above `prefixes`, and rows below `subtrees`.

    Parameters are numbered from `$first_parameter`. Run one statement per condition: SQLite cannot use an index
    for both joined by `or`. A row may match both.
    """
    outermost = _outermost_prefixes(subtrees)
    if "" in outermost:
        return [(f"{column} >= ${first_parameter}", [""])]
    ancestors = sorted({ancestor for prefix in prefixes for ancestor in list_ancestor_prefixes(prefix)})
    at_or_above: SqlCondition = (f"{column} = any(${first_parameter})", [ancestors])
    return (
        [at_or_above, _descendants_condition(column, first_parameter, outermost)]
        if outermost
        else [at_or_above]
    )


def _descendants_condition(column: str, first_parameter: int, prefixes: Sequence[str]) -> SqlCondition:
    parts: list[str] = []
    values: list[Value] = []
    for prefix in _pad_to_power_of_two(prefixes):
        parameter = first_parameter + len(values)
        parts.append(f"{column} > ${parameter} and {column} < ${parameter + 1}")
        values += [prefix, prefix[:-1] + "0"]  # "0" follows "/" in bytes
    return "(" + " or ".join(parts) + ")", values


def _outermost_prefixes(prefixes: Iterable[str]) -> list[str]:
    outermost: list[str] = []
    for prefix in sorted(set(prefixes)):
        if not outermost or not prefix.startswith(outermost[-1]):
            outermost.append(prefix)
    return outermost


def _pad_to_power_of_two(prefixes: Sequence[str]) -> list[str]:
    """Repeat the last prefix up to a power of two, so that few different statements are prepared."""
    size = 1 << (len(prefixes) - 1).bit_length()
    return [*prefixes, *[prefixes[-1]] * (size - len(prefixes))]
