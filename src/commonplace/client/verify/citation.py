"""Parses a cited place: a path with optional lines, symbol and commit."""

import re
from dataclasses import dataclass

_PLACE = re.compile(r"(?P<path>.+?)(?:(?:#|::)(?P<symbol>.+?))?(?:@(?P<commit>[0-9a-fA-F]{7,40}))?")
_LINES_OF_PATH = re.compile(r"(?P<path>.+?):L?(?P<first>\d{1,7})(?:-L?(?P<last>\d{1,7})|:\d{1,7})?")
_LINES_OF_ANCHOR = re.compile(r"L(?P<first>\d{1,7})(?:C\d+)?(?:-L?(?P<last>\d{1,7})(?:C\d+)?)?")
_NOT_ONE_FILE = re.compile(r"\w+://|.*[*?]")


@dataclass(frozen=True, slots=True)
class CitedPlace:
    """`first` and `last` are 0 unless lines are cited."""

    path: str
    first: int = 0
    last: int = 0
    symbol: str = ""
    commit: str = ""

    @property
    def names_one_file(self) -> bool:
        """False for web addresses and patterns."""
        return not _NOT_ONE_FILE.match(self.path)

    @property
    def is_whole(self) -> bool:
        return not self.first and not self.symbol


def parse_citation(cited: str) -> CitedPlace:
    """`path`, `path:5`, `path:5-9`, `path#L5-L9`, `path#symbol` or `path::symbol`, each optionally with `@commit`."""
    match = _PLACE.fullmatch(cited.strip().replace("\\", "/"))
    if match is None:
        return CitedPlace(cited)
    path, symbol, commit = match["path"], (match["symbol"] or "").strip(), (match["commit"] or "").lower()
    if lines := _LINES_OF_ANCHOR.fullmatch(symbol):
        return CitedPlace(path, *_line_span(lines), commit=commit)
    if lines := _LINES_OF_PATH.fullmatch(path):
        return CitedPlace(lines["path"], *_line_span(lines), symbol, commit)
    return CitedPlace(path, symbol=symbol, commit=commit)


def _line_span(match: re.Match[str]) -> tuple[int, int]:
    first = int(match["first"])
    last = int(match["last"] or first)
    return min(first, last), max(first, last)
