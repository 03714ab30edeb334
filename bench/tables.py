"""Markdown tables, printed row by row."""

from collections.abc import Sequence


def format_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    print(f"\n{title}\n\n{format_row(columns)}\n|{'---|' * len(columns)}")
    for row in rows:
        print(format_row(row))
