"""Prints rows for people: a table that fits the terminal, or one line with tabs for each row in a pipe.

Texts come from agents, so control characters never reach the terminal. Colours are only used on a terminal, and not
where NO_COLOR is set.
"""

import json
import os
import shutil
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

_GAP = "  "
_MIN_TITLE_COLUMNS = 12
_MIN_COLUMNS = 4
_BOLD, _DIM, _RED, _YELLOW, _GREEN, _CYAN = "1", "2", "31", "33", "32", "36"
_STYLE_OF_WORD = {
    "urgent": _RED,
    "critical": _RED,
    "blocked": _RED,
    "high": _YELLOW,
    "busy": _GREEN,
    "done": _GREEN,
    "in_progress": _CYAN,
    "low": _DIM,
    "stale": _DIM,
}


class TableRow(NamedTuple):
    """`cells` stand in the columns, the last one is cut to fit. `details` follow below, or as more fields in a pipe."""

    cells: tuple[str, ...]
    details: Mapping[str, str] = {}
    body: str = ""
    """Text of several lines, such as that of a message."""


def print_json(reply: Mapping[str, Any]) -> None:
    print(json.dumps(reply, indent=2, ensure_ascii=False))


def print_table(titles: Sequence[str], rows: Sequence[TableRow]) -> None:
    if not sys.stdout.isatty():
        for row in rows:
            fields = [*row.cells, *row.details.values(), *([row.body] if row.body else [])]
            print("\t".join(map(clean_line, fields)))
        return
    if not rows:
        return
    cells = [[clean_line(cell) for cell in row.cells] for row in rows]
    widths = _column_widths(titles, cells)
    print(style(_join_cells(titles, widths), _BOLD))
    for row, cleaned in zip(rows, cells, strict=True):
        print(_join_cells(cleaned, widths, is_coloured=True))
        for label, text in row.details.items():
            if text:
                line = f"{_GAP}{label}: {clean_line(text)}" if label else f"{_GAP}{clean_line(text)}"
                print(style(fit_width(line, _terminal_columns()), _DIM))
        for line in clean_text(row.body).splitlines():
            print(f"{_GAP}{line}")


def print_note(text: str) -> None:
    """What is not part of the result goes to standard error, so that a pipe does not get it."""
    print(text, file=sys.stderr)


def clean_line(text: str) -> str:
    return " ".join(clean_text(text).split())


def clean_text(text: str) -> str:
    """Without characters that move the cursor, change colours or reorder what is shown."""
    return "".join(letter if letter.isprintable() or letter == "\n" else " " for letter in text)


def display_width(text: str) -> int:
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )


def fit_width(text: str, columns: int) -> str:
    """The text, cut with an ellipsis if it is wider."""
    if display_width(text) <= columns:
        return text
    end = len(text)
    while end and display_width(text[:end]) > columns - 1:
        end -= 1
    return text[:end].rstrip() + "…"


def _column_widths(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """As wide as needed; the last column gets what is left, and on a narrow terminal the widest others shrink too."""
    widths = [max(map(display_width, column)) for column in zip(titles, *rows, strict=True)]
    left = _terminal_columns() - len(_GAP) * (len(widths) - 1)
    widths[-1] = max(min(widths[-1], _MIN_TITLE_COLUMNS), min(widths[-1], left - sum(widths[:-1])))
    while sum(widths) > left and max(widths) > _MIN_COLUMNS:
        widths[widths.index(max(widths))] -= 1
    return widths


def _join_cells(cells: Sequence[str], widths: Sequence[int], *, is_coloured: bool = False) -> str:
    shown = []
    for cell, width in zip(cells, widths, strict=True):
        fitted = fit_width(cell, width)
        padded = fitted + " " * (width - display_width(fitted))
        code = _STYLE_OF_WORD.get(cell, "") if is_coloured else ""
        shown.append(style(padded, code) if code else padded)
    return _GAP.join(shown).rstrip()


def style(text: str, code: str) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if _has_colours() else text


def _has_colours() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _terminal_columns() -> int:
    return shutil.get_terminal_size().columns


def ask(question: str) -> str:
    """The answer to a question; Ctrl-D answers as Enter does."""
    try:
        return input(question)
    except EOFError:
        print()
        return ""
