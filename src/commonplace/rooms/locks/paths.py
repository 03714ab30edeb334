"""Paths that can be locked: one spelling for each, and whether two of them can mean the same file.

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

MAX_BYTES = 1_024
MAX_SEGMENT_BYTES = 255
MAX_GLOB_BYTES = 256
MAX_WILDCARDS = 8
MAX_GIVEN = 8_192  # characters, before an absolute path is cut

WHOLE_TREE = "./"

_DRIVE = re.compile(r"[A-Za-z]:")
_EXTENDED = re.compile(r"//\?/(?:UNC(?=/)|(?=[A-Za-z]:))", re.IGNORECASE)
_WILDCARD = re.compile(r"(\*+|\?|\[[!^]?(?:\][^\]]*|[^\]]+)\])")

Kind = Literal["literal", "directory", "glob"]
Ranges = tuple[tuple[int, int], ...]
Tokens = tuple[Ranges | None, ...]  # None is `*`: any run of characters
Reading = str | Tokens  # a plain name, or one with wildcards
Segment = tuple[Reading, ...]  # every way to read it
Item = TypeVar("Item", Segment, Ranges)

# Control characters, line separators and text direction (bidi), halves of surrogate pairs.
_UNREADABLE: Ranges = (
    (0x00, 0x1F),
    (0x7F, 0x9F),
    (0x61C, 0x61C),
    (0x200E, 0x200F),
    (0x2028, 0x202E),
    (0x2066, 0x2069),
    (0xD800, 0xDFFF),
)
_UNREADABLE_CHARACTER = re.compile(
    "[" + "".join(f"{chr(low)}-{chr(high)}" for low, high in _UNREADABLE) + "]"
)


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a canonical path stands for. Compare only patterns that were parsed with the same `fold`."""

    path: str
    kind: Kind
    fold: bool
    segments: tuple[Segment | None, ...]  # None is `**`: any run of segments


def canonical(path: str, working_directory: str | None) -> str:
    r"""Give a path its one spelling, or refuse it.

    `\` is always a separator. An absolute path is cut at `working_directory`. The root itself is `./`.
    """
    if not path or len(path) > MAX_GIVEN:
        raise errors.Invalid("A path is empty or too long.", hint=f"Give 1 to {MAX_BYTES:,} bytes.")
    if _UNREADABLE_CHARACTER.search(path):
        raise errors.Invalid("A path holds control or text-direction characters.", hint="Remove them.")
    anchor, segments = _resolve(path)
    if anchor:
        segments = _cut(path, anchor, segments, working_directory)
    elif segments[:1] == ["~"]:
        raise errors.Invalid("`~` is a home directory, not a path here.", hint="Give it from the root.")
    return _spell(segments, directory=re.split(r"[\\/]", path)[-1] in ("", ".", "..", "**"))


def parse(path: str, literals: Collection[str], fold: bool) -> Pattern:
    """Read a canonical path.

    Wildcards are read as such unless the path is one of `literals`, the paths already locked as plain names.
    A segment with brackets also matches its own spelling, so that `app/[id]/page.tsx` locks that very file.
    """
    names = path.removesuffix("/").split("/")
    below = (None,) if path.endswith("/") else ()
    wildcards = sum(len(_WILDCARD.findall(name)) for name in names)
    if wildcards and not _listed(path, literals, fold):
        _bound(path, wildcards)
        return Pattern(path, "glob", fold, (*(_read(name, fold) for name in names), *below))
    return Pattern(path, "directory" if below else "literal", fold, (*_plain(path, fold), *below))


def overlaps(a: Pattern, b: Pattern) -> bool:
    """Whether some path is matched by both. Exact: nothing missed, nothing invented.

    With `fold`, wildcards stand for characters of the folded name (`?` is one of the two letters of `ß`).
    """
    if a.kind == b.kind == "literal":
        return a.segments == b.segments
    return _intersect(a.segments, b.segments, _segments_meet)


def covers(pattern: Pattern, path: str) -> bool:
    """Whether the pattern matches this one canonical path, read as a plain name (of a file or directory)."""
    return _intersect(_plain(path, pattern.fold), pattern.segments, _segments_meet)


def same_or_inside(path: str, directory: str, fold: bool) -> bool:
    """Whether a canonical path is `directory` or lies below it, with or without its final slash.

    Both are read as plain names, never as globs.
    """
    inner, outer = _plain(path, fold), _plain(directory, fold)
    return inner[: len(outer)] == outer


def first_literal_segments(pattern: Pattern) -> str:
    """Give the segments before the first wildcard, each followed by `/`; folded as the pattern is.

    `src/app/*.py` and `src/app/` give `src/app/`, the file `src/a.py` gives `src/a.py/`, `**/x` and `./` give
    the empty text. Every path that a pattern matches starts with these segments, hence for any two patterns of
    one `fold`, of whatever kinds: they can overlap only if one's text is a prefix of the other's (compared
    byte by byte, the final `/` keeps `src/a` apart from `src/ab`). The reverse does not hold, so `overlaps`
    has the last word. For an index: the candidates are the rows whose text is one of the prefixes of this
    text that end after a `/`, those with the empty text, and those in `[text, text[:-1] + "0")`, since "0"
    follows "/" in bytes. For the empty text every row is a candidate.
    """
    prefix = ""
    for segment in pattern.segments:
        match segment:
            case (str(name),):
                prefix += name + "/"
            case _:
                break
    return prefix


def _resolve(path: str) -> tuple[str, list[str]]:
    """Split into anchor (none, `/` or a drive) and segments. A UNC path is `/`, then server and share."""
    text = _EXTENDED.sub("", unicodedata.normalize("NFC", path).replace("\\", "/"), count=1)
    drive = _DRIVE.match(text)
    anchor = drive[0].lower() if drive else text[:1] if text.startswith("/") else ""
    rest = text.removeprefix(drive[0]) if drive else text
    if drive and not rest.startswith("/"):
        raise errors.Invalid(
            "A drive needs a path from its root.", hint="Give the path from the project's root."
        )
    segments: list[str] = []
    for segment in rest.split("/"):
        _step(segments, segment)
    return anchor, segments


def _step(segments: list[str], segment: str) -> None:
    if segment == "..":
        if not segments or segments.pop() == "**":
            raise errors.Invalid("`..` leaves the root.", hint="Give the path from the project's root.")
        return
    repeated = segment == "**" and segments[-1:] == ["**"]
    if segment not in ("", ".") and not repeated:
        segments.append(segment)


def _cut(path: str, anchor: str, segments: list[str], working_directory: str | None) -> list[str]:
    root_anchor, root = _resolve(working_directory or "")
    start = segments[: len(root)]
    if anchor != "/" or path.startswith("\\"):  # Windows itself ignores case here
        start, root = [_key(name, True) for name in start], [_key(name, True) for name in root]
    if anchor != root_anchor or start != root:
        raise errors.Invalid(
            "An absolute path lies outside the session's working_directory.",
            hint="Give the path from the project's root, or start the session with its working_directory.",
        )
    return segments[len(root) :]


def _spell(segments: list[str], *, directory: bool) -> str:
    while segments[-1:] == ["**"]:
        segments.pop()
    for segment in segments:
        _refuse_name(segment)
    spelled = "/".join(segments) + "/" * directory if segments else WHOLE_TREE
    if len(spelled.encode()) > MAX_BYTES:
        raise errors.Invalid("A path is too long.", hint=f"At most {MAX_BYTES:,} bytes from the root.")
    return spelled


def _refuse_name(segment: str) -> None:
    # Windows drops a final dot or blank, so such a name would be a second one for the same file. Colons and
    # device names (`aux.c`, `con.py`) stay allowed: real repositories hold them, and they shadow nothing there.
    if segment.endswith((".", " ")):
        raise errors.Invalid("A name in a path ends with a dot or a blank.", hint="Remove it.")
    if len(segment.encode()) > MAX_SEGMENT_BYTES:
        raise errors.Invalid("A name in a path is too long.", hint=f"At most {MAX_SEGMENT_BYTES} bytes each.")


def _bound(path: str, wildcards: int) -> None:
    if wildcards > MAX_WILDCARDS or len(path.encode()) > MAX_GLOB_BYTES:
        raise errors.Invalid(
            f"A glob has at most {MAX_WILDCARDS} wildcards and {MAX_GLOB_BYTES} bytes.",
            hint="Lock the directory that holds these files instead.",
        )


def _listed(path: str, literals: Collection[str], fold: bool) -> bool:
    return path in literals or (fold and any(_key(path, fold) == _key(other, fold) for other in literals))


def _key(name: str, fold: bool) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold()) if fold else name


def _plain(path: str, fold: bool) -> tuple[Segment, ...]:
    names = () if path == WHOLE_TREE else path.removesuffix("/").split("/")
    return tuple((_key(name, fold),) for name in names)


def _intersect(
    a: Sequence[Item | None], b: Sequence[Item | None], meet: Callable[[Item, Item], bool]
) -> bool:
    """Whether one sequence fits both, where None stands for any run of items, even an empty one.

    This is the product of both automata, row by row: bit j of `reached` says that the items of `a` so far can
    be matched together with the first j items of `b`. Only distinct items meet, each pair at most once.
    """
    places: defaultdict[Item | None, int] = defaultdict(int)
    for j, item in enumerate(b):
        places[item] |= 1 << j
    runs, inside = places.pop(None, 0), (2 << len(b)) - 1
    meetings: dict[Item, int] = {}
    reached = 1 | (runs & 1) << 1
    for item in a:
        if item is None:
            reached = inside & -(reached & -reached)
            continue
        if item not in meetings:
            meetings[item] = sum(
                bits for other, bits in places.items() if other is not None and meet(item, other)
            )
        reached = reached & runs | (reached & meetings[item]) << 1
        reached |= (reached & runs) << 1
        if not reached:
            return False
    return bool(reached >> len(b))


def _segments_meet(a: Segment, b: Segment) -> bool:
    return a == b or any(_readings_meet(x, y) for x in a for y in b)


def _readings_meet(a: Reading, b: Reading) -> bool:
    if isinstance(a, str) and isinstance(b, str):
        return a == b
    return _intersect(_tokens(a), _tokens(b), _ranges_meet)


def _ranges_meet(a: Ranges, b: Ranges) -> bool:
    return any(low <= last and first <= high for low, high in a for first, last in b)


def _tokens(reading: Reading) -> Tokens:
    if isinstance(reading, str):
        return tuple(((ord(character), ord(character)),) for character in reading)
    return reading


@lru_cache(maxsize=4_096)
def _read(name: str, fold: bool) -> Segment | None:
    """Read one segment: its wildcards, and where it has brackets also their own spelling."""
    if name == "**":
        return None
    parts = _WILDCARD.split(name)
    if len(parts) == 1:
        return (_key(name, fold),)
    readings = (_with_wildcards(parts, fold, sets=sets) for sets in (True, False))
    return tuple(dict.fromkeys(readings))


def _with_wildcards(parts: Sequence[str], fold: bool, *, sets: bool) -> Tokens:
    tokens: list[Ranges | None] = []
    for part in parts:
        if part.startswith("*"):
            tokens.append(None)
        elif part == "?":
            tokens.append(_ANY)
        elif sets and _WILDCARD.fullmatch(part):
            tokens.append(_character_set(part[1:-1], fold))
        else:
            tokens.extend(_tokens(_key(part, fold)))
    return tuple(tokens)


def _character_set(body: str, fold: bool) -> Ranges:
    negated = len(body) > 1 and body[0] in "!^"
    listed = re.findall("(.)-(.)|(.)", body[negated:])
    outside = _complement((ord(low or one), ord(high or one)) for low, high, one in listed)
    if fold:
        outside = _complement(_with_other_cases(_complement(outside)))
    return _nameable(outside if negated else _complement(outside))


def _complement(ranges: Iterable[tuple[int, int]]) -> Ranges:
    gaps, start = [], 0
    for low, high in sorted((low, high) for low, high in ranges if low <= high):
        if start < low:
            gaps.append((start, low - 1))
        start = max(start, high + 1)
    return (*gaps, (start, sys.maxunicode)) if start <= sys.maxunicode else tuple(gaps)


def _nameable(ranges: Ranges) -> Ranges:
    return _complement((*_complement(ranges), *_UNREADABLE, (ord("/"), ord("/"))))


_ANY = _nameable(((0, sys.maxunicode),))

# No cased script lies above: a test holds this against the interpreter's Unicode tables.
LAST_CASED = 0x1EFFF


@cache
def _cased() -> tuple[list[int], list[Ranges]]:
    """Every character that has another case, in order, and beside it all that fold to the same."""
    alike: defaultdict[str, set[int]] = defaultdict(set)
    for point in range(LAST_CASED + 1):
        folded = chr(point).casefold()
        if folded != chr(point) and len(folded) == 1:
            alike[folded] |= {point, ord(folded)}
    cases = {point: tuple((one, one) for one in points) for points in alike.values() for point in points}
    points = sorted(cases)
    return points, [cases[point] for point in points]


def _with_other_cases(ranges: Ranges) -> Iterable[tuple[int, int]]:
    points, cases = _cased()
    yield from ranges
    for low, high in ranges:
        for same in cases[bisect_left(points, low) : bisect_right(points, high)]:
            yield from same
