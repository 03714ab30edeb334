"""Shelves: an agent's own uncommitted lines, put aside and brought back whatever the files are by then.

git has one stash for everybody in a working tree; a shelf belongs to one agent and holds its own lines.
"""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from commonplace.client.checkout.checkout import Checkout
from commonplace.client.checkout.ledger import Author
from commonplace.client.checkout.repository import FileState

_FILE = "shelves.json"


class Shelf(NamedTuple):
    """`files` has the state with the lines and the one without them."""

    number: int
    agent: str
    what: str
    at: float
    files: dict[str, tuple[FileState, FileState]]


def shelve_lines(checkout: Checkout, author: Author, paths: Sequence[str], what: str) -> Shelf | None:
    """Put the author's own lines of these files aside, or of all; None if there are none."""
    files = checkout.take_own_out(author, paths)
    if not files:
        return None
    shelves = list_shelves(checkout)
    number = max((shelf.number for shelf in shelves), default=0) + 1
    shelf = Shelf(number, author.name, what, time.time(), files)
    _save_shelves(checkout, [*shelves, shelf])
    return shelf


def unshelve_lines(checkout: Checkout, author: Author, shelf: Shelf) -> None:
    checkout.put_back(author, shelf.files)
    _save_shelves(checkout, [each for each in list_shelves(checkout) if each.number != shelf.number])


def list_shelves(checkout: Checkout) -> list[Shelf]:
    """The oldest first."""
    try:
        stored = json.loads(Path(checkout.folder, _FILE).read_bytes())
    except (OSError, ValueError):
        return []
    return [Shelf(**each | {"files": _read_files(each["files"])}) for each in stored]


def _read_files(stored: dict[str, list[list[str]]]) -> dict[str, tuple[FileState, FileState]]:
    return {path: (FileState(*states[0]), FileState(*states[1])) for path, states in stored.items()}


def _save_shelves(checkout: Checkout, shelves: Sequence[Shelf]) -> None:
    Path(checkout.folder, _FILE).write_text(json.dumps([shelf._asdict() for shelf in shelves]))
