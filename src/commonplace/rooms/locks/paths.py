"""Canonical lock paths, and whether two of them can mean the same file. Pure functions without a store.

A canonical path is relative to the root: `a/b.py` is a file, `a/b/` a directory with everything below it,
`./` the whole tree. `*`, `?` and `[...]` are wildcards inside one segment; `**` alone is any run of segments.
"""

import re
import sys
import unicodedata
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal, TypeVar

from commonplace import errors
from commonplace.file_region import split_region
from commonplace.store.database import Value

MAX_PATH_BYTES = 1_024
MAX_SEGMENT_BYTES = 255
MAX_GLOB_BYTES = 256
MAX_GLOB_WILDCARDS = 8
MAX_INPUT_CHARACTERS = 8_192  # before an absolute path is made relative

WHOLE_TREE = "./"

_RELATIVE_HINT = "Pass the path relative to the project's root."
_ABOVE_HINT = "Pass a directory above it instead."

_DRIVE_LETTER = re.compile(r"[A-Za-z]:")
_EXTENDED_LENGTH_PREFIX = re.compile(r"//\?/(?:UNC(?=/)|(?=[A-Za-z]:))", re.IGNORECASE)
_WILDCARD = re.compile(r"(\*+|\?|\[[!^]?(?:\][^\]]*|[^\]]+)\])")

PatternKind = Literal["literal", "directory", "glob"]
CharacterRanges = tuple[tuple[int, int], ...]
SegmentTokens = tuple[CharacterRanges | None, ...]  # None is `*`: any run of characters
SegmentReading = str | SegmentTokens  # a plain name, or one with wildcards
PathSegment = tuple[SegmentReading, ...]  # every way to read it
Item = TypeVar("Item", PathSegment, CharacterRanges)

# Control characters, line separators and text direction (bidi), halves of surrogate pairs.
_FORBIDDEN_RANGES: CharacterRanges = (
    (0x00, 0x1F),
    (0x7F, 0x9F),
    (0x61C, 0x61C),
    (0x200E, 0x200F),
    (0x2028, 0x202E),
    (0x2066, 0x2069),
    (0xD800, 0xDFFF),
)
_FORBIDDEN_CHARACTER = re.compile(
    "[" + "".join(f"{chr(low)}-{chr(high)}" for low, high in _FORBIDDEN_RANGES) + "]"
)


@dataclass(frozen=True, slots=True)
class PathPattern:
    """A parsed canonical path. Compare only patterns that were parsed with the same `fold`."""

    path: str
    kind: PatternKind
    fold: bool
    segments: tuple[PathSegment | None, ...]  # None is `**`: any run of segments

    @property
    def lock_key(self) -> tuple[PathSegment | None, ...]:
        """The same for `src` and `src/`: locks of both are one lock."""
        return self.segments[:-1] if self.kind == "directory" else self.segments


def canonicalize_path(path: str, working_directory: str | None) -> str:
    r"""Return the one canonical spelling of a path, or refuse it.

    `\` is always a separator. An absolute path becomes relative to `working_directory`. The root is `./`.
    A line, a range of lines or a symbol at the end is dropped: the path is that of the file.
    """
    if not path or len(path) > MAX_INPUT_CHARACTERS:
        raise errors.Invalid(
            "A path is empty or too long.", hint=f"Pass paths of 1 to {MAX_PATH_BYTES:,} bytes."
        )
    if _FORBIDDEN_CHARACTER.search(path):
        raise _invalid_path(
            path, "it contains control or text-direction characters", "Remove the characters shown as `?`."
        )
    path, _ = split_region(path)
    anchor, segments = _split_absolute(path)
    if anchor:
        segments = _relative_to_root(path, anchor, segments, working_directory)
    elif segments[:1] == ["~"]:
        raise _invalid_path(path, "`~` is not expanded")
    return _join_segments(path, segments, directory=re.split(r"[\\/]", path)[-1] in ("", ".", "..", "**"))


def parse_pattern(path: str, literals: Collection[str], fold: bool) -> PathPattern:
    """Parse a canonical path.

    `*`, `?` and `[...]` are wildcards unless the path is one of `literals`, the paths locked as plain names.
    A segment with brackets also matches its own spelling, so that `app/[id]/page.tsx` locks the file of that name.
    """
    names = path.removesuffix("/").split("/")
    descendants = (None,) if path.endswith("/") else ()
    wildcards = sum(len(_WILDCARD.findall(name)) for name in names)
    if wildcards and not _is_listed(path, literals, fold):
        _require_bounded_glob(path, wildcards)
        return PathPattern(
            path, "glob", fold, (*(_parse_segment(name, fold) for name in names), *descendants)
        )
    return PathPattern(
        path, "directory" if descendants else "literal", fold, (*_literal_segments(path, fold), *descendants)
    )


def patterns_overlap(a: PathPattern, b: PathPattern) -> bool:
    """Whether both patterns match some path. The answer is exact, not a heuristic.

    With `fold`, wildcards match characters of the folded name (`ß` folds to two letters, each a `?`).
    """
    if a.kind == b.kind == "literal":
        return a.segments == b.segments
    return _sequences_intersect(a.segments, b.segments, _segments_intersect)


def contains_pattern(a: PathPattern, b: PathPattern) -> bool:
    """Whether `a` is a plain name and `b` starts with it: `src` is locked with everything that is named below it."""
    return a.kind == "literal" and b.segments[: len(a.segments)] == a.segments


def covers_pattern(a: PathPattern, b: PathPattern) -> bool:
    """Whether who has locked `a` needs no lock on `b`. Of globs only plain names and the same glob are recognized."""
    if contains_pattern(a, b) or a.segments == b.segments:
        return True
    if a.kind == "directory":
        return b.segments[: len(a.segments) - 1] == a.segments[:-1]
    return b.kind == "literal" and patterns_overlap(a, b)


def matches_path(pattern: PathPattern, path: str) -> bool:
    """Whether the pattern matches this canonical path, read as a plain file or directory name."""
    return _sequences_intersect(_literal_segments(path, pattern.fold), pattern.segments, _segments_intersect)


def is_same_or_inside(path: str, directory: str, fold: bool) -> bool:
    """Whether a canonical path is `directory` or lies below it, with or without its final slash.

    Both are read as plain names, never as globs.
    """
    inner, outer = _literal_segments(path, fold), _literal_segments(directory, fold)
    return inner[: len(outer)] == outer


def literal_prefix(pattern: PathPattern) -> str:
    """Return the segments before the first wildcard, each followed by `/`; folded if the pattern is.

    `src/app/*.py` and `src/app/` give `src/app/`, the file `src/a.py` gives `src/a.py/`, `**/x` and `./` give
    the empty string. Every path that a pattern matches starts with these segments. So two patterns with the
    same `fold` can overlap only if one string is a prefix of the other (compared byte by byte; the final `/`
    separates `src/a` from `src/ab`). The reverse does not hold: `patterns_overlap` decides. In an index the
    candidates are the rows whose string is a prefix of this one that ends after a `/`, those with the empty
    string, and those in `[string, string[:-1] + "0")`, since "0" follows "/" in bytes. For the empty string
    every row is a candidate.
    """
    prefix = ""
    for segment in pattern.segments:
        match segment:
            case (str(name),):
                prefix += name + "/"
            case _:
                break
    return prefix


def _invalid_path(path: str, problem: str, hint: str = _RELATIVE_HINT) -> errors.Invalid:
    printable = _FORBIDDEN_CHARACTER.sub("?", path[:MAX_SEGMENT_BYTES])
    return errors.Invalid(f"Invalid path '{printable}': {problem}.", hint=hint)


def _split_absolute(path: str) -> tuple[str, list[str]]:
    """Split into anchor (none, `/` or a drive) and segments. A UNC path is `/`, then server and share."""
    text = _EXTENDED_LENGTH_PREFIX.sub("", unicodedata.normalize("NFC", path).replace("\\", "/"), count=1)
    drive = _DRIVE_LETTER.match(text)
    anchor = drive[0].lower() if drive else text[:1] if text.startswith("/") else ""
    rest = text.removeprefix(drive[0]) if drive else text
    if drive and not rest.startswith("/"):
        raise _invalid_path(path, "the drive letter must be followed by `/`")
    segments: list[str] = []
    for segment in rest.split("/"):
        if segment == "..":
            if not segments or segments.pop() == "**":
                raise _invalid_path(path, "`..` leaves the root")
        elif segment not in ("", ".") and not (segment == "**" and segments[-1:] == ["**"]):
            segments.append(segment)
    return anchor, segments


def _relative_to_root(
    path: str, anchor: str, segments: list[str], working_directory: str | None
) -> list[str]:
    root_anchor, root = _split_absolute(working_directory or "")
    start = segments[: len(root)]
    if anchor != "/" or path.startswith("\\"):  # Windows itself ignores case here
        start, root = [_fold_name(name, True) for name in start], [_fold_name(name, True) for name in root]
    if anchor != root_anchor or start != root:
        raise _invalid_path(
            path,
            "it is absolute and outside the session's working_directory",
            f"{_RELATIVE_HINT} Or pass working_directory to memory_start_session.",
        )
    return segments[len(root) :]


def _join_segments(path: str, segments: list[str], *, directory: bool) -> str:
    while segments[-1:] == ["**"]:
        segments.pop()
    for segment in segments:
        _require_valid_segment(path, segment)
    canonical = "/".join(segments) + "/" * directory if segments else WHOLE_TREE
    if len(canonical.encode()) > MAX_PATH_BYTES:
        raise _invalid_path(path, f"it is longer than {MAX_PATH_BYTES:,} bytes", _ABOVE_HINT)
    return canonical


def _require_valid_segment(path: str, segment: str) -> None:
    # Windows drops a final dot or space, so such a name would be a second name of the same file. Colons and
    # device names (`aux.c`, `con.py`) stay allowed: real repositories contain them.
    if segment.endswith((".", " ")):
        raise _invalid_path(path, "a name in it ends with a dot or a space", "Remove that dot or space.")
    if len(segment.encode()) > MAX_SEGMENT_BYTES:
        raise _invalid_path(path, f"a name in it is longer than {MAX_SEGMENT_BYTES} bytes", _ABOVE_HINT)


def _require_bounded_glob(path: str, wildcards: int) -> None:
    if wildcards > MAX_GLOB_WILDCARDS or len(path.encode()) > MAX_GLOB_BYTES:
        raise _invalid_path(
            path,
            f"a glob can have at most {MAX_GLOB_WILDCARDS} wildcards and {MAX_GLOB_BYTES} bytes",
            "Pass the directory (dir/) that contains these files instead.",
        )


def _is_listed(path: str, literals: Collection[str], fold: bool) -> bool:
    return path in literals or (
        fold and any(_fold_name(path, fold) == _fold_name(other, fold) for other in literals)
    )


def _fold_name(name: str, fold: bool) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold()) if fold else name


def _literal_segments(path: str, fold: bool) -> tuple[PathSegment, ...]:
    names = () if path == WHOLE_TREE else path.removesuffix("/").split("/")
    return tuple((_fold_name(name, fold),) for name in names)


def _sequences_intersect(
    a: Sequence[Item | None], b: Sequence[Item | None], items_intersect: Callable[[Item, Item], bool]
) -> bool:
    """Whether one sequence matches both; None stands for any run of items, even an empty one.

    This is the product of both automata, row by row: bit j of `reached` says that the items of `a` so far can
    be matched together with the first j items of `b`. Each pair of distinct items is compared at most once.
    """
    positions: defaultdict[Item | None, int] = defaultdict(int)
    for j, item in enumerate(b):
        positions[item] |= 1 << j
    runs, inside = positions.pop(None, 0), (2 << len(b)) - 1
    intersecting: dict[Item, int] = {}
    reached = 1 | (runs & 1) << 1
    for item in a:
        if item is None:
            reached = inside & -(reached & -reached)
            continue
        if item not in intersecting:
            intersecting[item] = sum(
                bits
                for other, bits in positions.items()
                if other is not None and items_intersect(item, other)
            )
        reached = reached & runs | (reached & intersecting[item]) << 1
        reached |= (reached & runs) << 1
        if not reached:
            return False
    return bool(reached >> len(b))


def _segments_intersect(a: PathSegment, b: PathSegment) -> bool:
    return a == b or any(_readings_intersect(x, y) for x in a for y in b)


def _readings_intersect(a: SegmentReading, b: SegmentReading) -> bool:
    if isinstance(a, str) and isinstance(b, str):
        return a == b
    return _sequences_intersect(_reading_tokens(a), _reading_tokens(b), _ranges_intersect)


def _ranges_intersect(a: CharacterRanges, b: CharacterRanges) -> bool:
    return any(low <= last and first <= high for low, high in a for first, last in b)


def _reading_tokens(reading: SegmentReading) -> SegmentTokens:
    if isinstance(reading, str):
        return tuple(((ord(character), ord(character)),) for character in reading)
    return reading


@lru_cache(maxsize=4_096)
def _parse_segment(name: str, fold: bool) -> PathSegment | None:
    """Parse the wildcards of one segment; a segment with brackets also matches its own spelling."""
    if name == "**":
        return None
    parts = _WILDCARD.split(name)
    if len(parts) == 1:
        return (_fold_name(name, fold),)
    readings = (_tokenize_wildcards(parts, fold, sets=sets) for sets in (True, False))
    return tuple(dict.fromkeys(readings))


def _tokenize_wildcards(parts: Sequence[str], fold: bool, *, sets: bool) -> SegmentTokens:
    tokens: list[CharacterRanges | None] = []
    for part in parts:
        if part.startswith("*"):
            tokens.append(None)
        elif part == "?":
            tokens.append(_ANY_CHARACTER)
        elif sets and _WILDCARD.fullmatch(part):
            tokens.append(_parse_character_set(part[1:-1], fold))
        else:
            tokens.extend(_reading_tokens(_fold_name(part, fold)))
    return tuple(tokens)


def _parse_character_set(body: str, fold: bool) -> CharacterRanges:
    negated = len(body) > 1 and body[0] in "!^"
    listed = re.findall("(.)-(.)|(.)", body[negated:])
    complement = _complement_ranges((ord(low or one), ord(high or one)) for low, high, one in listed)
    if fold:
        complement = _complement_ranges(_add_case_variants(_complement_ranges(complement)))
    return _exclude_forbidden(complement if negated else _complement_ranges(complement))


def _complement_ranges(ranges: Iterable[tuple[int, int]]) -> CharacterRanges:
    gaps, start = [], 0
    for low, high in sorted((low, high) for low, high in ranges if low <= high):
        if start < low:
            gaps.append((start, low - 1))
        start = max(start, high + 1)
    return (*gaps, (start, sys.maxunicode)) if start <= sys.maxunicode else tuple(gaps)


def _exclude_forbidden(ranges: CharacterRanges) -> CharacterRanges:
    return _complement_ranges((*_complement_ranges(ranges), *_FORBIDDEN_RANGES, (ord("/"), ord("/"))))


_ANY_CHARACTER = _exclude_forbidden(((0, sys.maxunicode),))

# No cased script lies above: a test compares this with the interpreter's Unicode tables.
LAST_CASED_CODE_POINT = 0x1EFFF


@cache
def _load_case_variants() -> tuple[list[int], list[CharacterRanges]]:
    """Return every character that has case variants, in order, and for each all that fold to the same."""
    alike: defaultdict[str, set[int]] = defaultdict(set)
    for point in range(LAST_CASED_CODE_POINT + 1):
        folded = chr(point).casefold()
        if folded != chr(point) and len(folded) == 1:
            alike[folded] |= {point, ord(folded)}
    cases = {point: tuple((one, one) for one in points) for points in alike.values() for point in points}
    points = sorted(cases)
    return points, [cases[point] for point in points]


def _add_case_variants(ranges: CharacterRanges) -> Iterable[tuple[int, int]]:
    points, cases = _load_case_variants()
    yield from ranges
    for low, high in ranges:
        for same in cases[bisect_left(points, low) : bisect_right(points, high)]:
            yield from same


# The indexed string of a path is `literal_prefix`: folded segments, each followed by `/`. It is folded whether or not the
# project ignores case, so that the setting can change later; `patterns_overlap` compares exactly afterwards.


def prefix_of_pattern(path: str) -> str:
    return literal_prefix(parse_pattern(path, (), True))


def prefix_of_literal(path: str) -> str:
    """Like `prefix_of_pattern`, for a path that is read as a plain name."""
    return literal_prefix(parse_pattern(path, (path,), True))


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
