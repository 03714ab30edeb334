"""A part of a file that somebody has leased: lines of a version of the file that both sides know, lines in a version
that nobody named, or symbols by their names.

The lines of a version are kept as spans between boundaries: boundary n is after line n. An edit that replaces lines 10
to 12 is the span 9..12, one that inserts after line 9 is 9..9. Two edits can be merged by git exactly if there is an
unchanged line between them, so spans of different working trees exclude each other if they have a boundary in common.

As text a region follows the path of its file: `cart.py:10-12,40+@3f2a91c0d4e5%1c9a5e22#Cart.total`. `40+` is what was
inserted after line 40, `40~` the same where lines that somebody else inserted there may have been changed. `@` names the
version by the id of its git object, `&` separates versions, `%` names the working tree. People and models write
`cart.py:10-12` or `cart.py#Cart.total`.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

BASE_CHARACTERS: Final = 12
TREE_CHARACTERS: Final = 8
MAX_SPANS: Final = 16
MAX_BASES: Final = 3
MAX_SYMBOLS: Final = 4
UNKNOWN_BASE: Final = ""

_SPAN = r"\d{1,9}(?:-\d{1,9}|[+~])?"
_SPANS = rf"{_SPAN}(?:,{_SPAN})*"
_SPANS_OF_BASE = rf"{_SPANS}@[0-9a-f]{{{BASE_CHARACTERS}}}"
_BASED_REGION = re.compile(
    rf":(?P<bases>{_SPANS_OF_BASE}(?:&{_SPANS_OF_BASE}){{0,{MAX_BASES - 1}}})(?:%(?P<tree>[0-9a-f]{{{TREE_CHARACTERS}}}))?"
    r"(?:#(?P<symbols>[\w$.,]{1,200}))?$"
)
# `cart.py:10`, `cart.py:10-20`, `cart.py:10:4`, `cart.py#L10-L20`, `cart.py#add_item`: as people write them.
_WRITTEN_REGION = re.compile(
    r"(?<=[\w\])])(?::(?P<lines>\d{1,9}(?:-\d{1,9})?(?:,\d{1,9}(?:-\d{1,9})?)*)"
    r"|(?<=\w)#(?:L(?P<first>\d{1,9})(?:-L?(?P<last>\d{1,9}))?|(?P<symbol>[A-Za-z_$][\w$.:]{0,199})(?:\(\))?))$"
)


@dataclass(frozen=True, slots=True, order=True)
class LineSpan:
    start: int
    end: int
    is_append: bool = False
    """Whether lines are only added here, so that others in the same working tree may add theirs."""

    @classmethod
    def of_lines(cls, first: int, last: int) -> "LineSpan":
        """Lines as people count them, from 1."""
        return cls(max(min(first, last) - 1, 0), max(first, last))

    @property
    def text(self) -> str:
        if self.start == self.end:
            return f"{self.start}{'+' if self.is_append else '~'}"
        return f"{self.start + 1}-{self.end}"

    def touches(self, other: "LineSpan", *, is_same_tree: bool) -> bool:
        """In one working tree only what both change: lines are never merged there."""
        if is_same_tree and self.start == self.end == other.start == other.end:
            return not (self.is_append and other.is_append)
        if is_same_tree:
            return self.start < other.end and other.start < self.end
        return self.start <= other.end and other.start <= self.end

    def contains(self, other: "LineSpan") -> bool:
        return self.start <= other.start and other.end <= self.end and (other.is_append or not self.is_append)


@dataclass(frozen=True, slots=True)
class FileRegion:
    spans_by_base: Mapping[str, tuple[LineSpan, ...]] = field(default_factory=dict)
    symbols: tuple[str, ...] = ()
    """The symbols that contain all of these lines, or that are leased by name; empty if they are not known."""
    tree: str = ""
    """The working tree in which the lines are edited."""

    @property
    def text(self) -> str:
        bases = "&".join(
            ",".join(span.text for span in spans) + (f"@{base}" if base else "")
            for base, spans in sorted(self.spans_by_base.items())
        )
        return "".join(
            (
                f":{bases}" if bases else "",
                f"%{self.tree}" if self.tree else "",
                f"#{','.join(self.symbols)}" if self.symbols else "",
            )
        )

    @property
    def lines(self) -> str:
        """The lines as people read them, in the first version that is known."""
        spans = next(iter(self.spans_by_base.values()), ())
        return ",".join(
            f"{span.start}+"
            if span.start == span.end
            else f"{span.start + 1}"
            if span.start + 1 == span.end
            else span.text
            for span in spans
        )

    @property
    def name(self) -> str:
        """What follows the path where the region is shown: its lines, or its symbols where only these are known."""
        return f":{self.lines}" if self.spans_by_base else f"#{','.join(self.symbols)}"

    @property
    def bases(self) -> list[str]:
        return [base for base in self.spans_by_base if base != UNKNOWN_BASE]


def split_region(path: str) -> tuple[str, FileRegion | None]:
    """The path of the file, and the region that follows it."""
    if match := _BASED_REGION.search(path):
        return path[: match.start()], _parse_based_region(match)
    file = path
    symbols: tuple[str, ...] = ()
    spans: tuple[LineSpan, ...] = ()
    while match := _WRITTEN_REGION.search(file):
        file = file[: match.start()]
        if match["symbol"]:
            symbols = (normalize_symbol(match["symbol"]),)
        else:
            text = match["lines"] or f"{match['first']}-{match['last'] or match['first']}"
            spans = _parse_spans(text)
    if not symbols and not spans:
        return path, None
    return file, FileRegion({UNKNOWN_BASE: spans} if spans else {}, symbols)


def tag_working_tree(machine: str, root: str) -> str:
    """The name of a working tree in regions; a server and its clients compute the same."""
    import hashlib  # noqa: PLC0415 - few hooks need it

    return hashlib.sha256(f"{machine} {root}".encode("utf-8", "replace")).hexdigest()[:TREE_CHARACTERS]


def normalize_symbol(symbol: str) -> str:
    """The name with dots, however the language separates scopes."""
    return re.sub(r"\.{2,}", ".", symbol.replace(":", ".")).strip(".")


def shorten_path(path: str) -> str:
    """A path with its region as people read it: without versions and working trees."""
    file, region = split_region(path)
    return file + region.name if region else path


def regions_overlap(a: FileRegion | None, b: FileRegion | None) -> bool:
    """Whether both may concern the same lines of one file; None is the whole file. What cannot be compared overlaps."""
    if a is None or b is None:
        return True
    common = a.spans_by_base.keys() & b.spans_by_base.keys()
    if common:
        is_same_tree = bool(a.tree) and a.tree == b.tree
        return any(
            span.touches(other, is_same_tree=is_same_tree)
            for base in common
            for span in a.spans_by_base[base]
            for other in b.spans_by_base[base]
        )
    is_by_name = not a.spans_by_base or not b.spans_by_base
    if is_by_name and a.symbols and b.symbols:
        return any(_symbols_overlap(one, other) for one in a.symbols for other in b.symbols)
    return True


def region_covers(a: FileRegion | None, b: FileRegion | None) -> bool:
    """Whether everything in `b` is known to be in `a`."""
    if a is None or b is None:
        return a is None
    if not a.spans_by_base:
        names = b.symbols
        return bool(names) and all(
            any(name == outer or name.startswith(f"{outer}.") for outer in a.symbols) for name in names
        )
    return any(
        all(any(outer.contains(span) for outer in a.spans_by_base[base]) for span in b.spans_by_base[base])
        for base in a.spans_by_base.keys() & b.spans_by_base.keys()
    )


def merge_regions(a: FileRegion, b: FileRegion) -> FileRegion | None:
    """One region for both; None where that would lose something."""
    is_alike = a.spans_by_base.keys() == b.spans_by_base.keys() and a.tree == b.tree
    if not is_alike or not a.bases or UNKNOWN_BASE in a.spans_by_base:
        return None
    symbols = tuple(dict.fromkeys((*a.symbols, *b.symbols))) if a.symbols and b.symbols else ()
    return FileRegion(
        {base: join_spans((*spans, *b.spans_by_base[base])) for base, spans in a.spans_by_base.items()},
        symbols if len(symbols) <= MAX_SYMBOLS else (),
        a.tree,
    )


def join_spans(spans: Iterable[LineSpan]) -> tuple[LineSpan, ...]:
    """The spans in order, those that touch joined; the nearest are joined too where there are too many."""
    joined: list[LineSpan] = []
    for span in sorted(spans):
        if joined and span.start <= joined[-1].end:
            joined[-1] = _hull(joined[-1], span)
        else:
            joined.append(span)
    while len(joined) > MAX_SPANS:
        at = min(range(1, len(joined)), key=lambda index: joined[index].start - joined[index - 1].end)
        joined[at - 1 : at + 1] = [_hull(joined[at - 1], joined[at])]
    return tuple(joined)


def _hull(a: LineSpan, b: LineSpan) -> LineSpan:
    is_append = a.is_append and b.is_append and a.start == b.end
    return LineSpan(a.start, max(a.end, b.end), is_append)


def _symbols_overlap(a: str, b: str) -> bool:
    return a == b or a.startswith(f"{b}.") or b.startswith(f"{a}.")


def _parse_based_region(match: re.Match[str]) -> FileRegion:
    spans_by_base: dict[str, tuple[LineSpan, ...]] = {}
    for part in match["bases"].split("&"):
        spans, _, base = part.partition("@")
        spans_by_base[base] = _parse_spans(spans)
    symbols = [normalize_symbol(symbol) for symbol in match["symbols"].split(",")] if match["symbols"] else []
    is_known = all(symbols) and len(symbols) <= MAX_SYMBOLS
    return FileRegion(spans_by_base, tuple(symbols) if is_known else (), match["tree"] or "")


def _parse_spans(text: str) -> tuple[LineSpan, ...]:
    return join_spans(_parse_span(part) for part in text.split(","))


def _parse_span(text: str) -> LineSpan:
    if text.endswith(("+", "~")):
        at = int(text[:-1])
        return LineSpan(at, at, text.endswith("+"))
    first, _, last = text.partition("-")
    return LineSpan.of_lines(int(first), int(last or first))
