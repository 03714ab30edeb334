"""Tables as Markdown, row by row as they become known."""

from collections.abc import Sequence


def line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    print(f"\n{title}\n\n{line(columns)}\n|{'---|' * len(columns)}")
    for row in rows:
        print(line(row))
