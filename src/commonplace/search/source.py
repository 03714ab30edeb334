"""What a room makes searchable: how the items of one kind are loaded, to index, to embed and to show them; and which of
them were shown to whom, collected in memory and written together a second later.

A room declares a `SearchSource` and lists it in its `Room`. Its operations say which items they changed with
`call.reindex`; `refresh_items` then loads them again and writes the index in the same transaction.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from commonplace.store.database import Row, Tx

_MAX_UNWRITTEN_USES = 20_000


@dataclass(frozen=True, slots=True)
class EntryUse:
    project: str
    kind: str
    id: str
    session: str
    opened: bool
    at: int


class UseLog:
    """Bounded: if too many come, the oldest are dropped, and only counts are lost."""

    def __init__(self) -> None:
        self._uses: deque[EntryUse] = deque(maxlen=_MAX_UNWRITTEN_USES)

    def add_uses(self, uses: Sequence[EntryUse]) -> None:
        self._uses.extend(uses)

    def take_uses(self) -> list[EntryUse]:
        taken: list[EntryUse] = []
        while self._uses and len(taken) < _MAX_UNWRITTEN_USES:
            taken.append(self._uses.popleft())
        return taken

    def list_uses_of_session(self, session: str) -> list[EntryUse]:
        """The uses of a session that are not written yet."""
        return [use for use in islice(self._uses.copy(), _MAX_UNWRITTEN_USES) if use.session == session]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchItem:
    """One thing that can be found. `readers` are the only agents that find it (`reader_name`); none means everyone who
    may read the project. An item that is not active is found only on request."""

    id: str
    title: str
    text: str
    changed_at: int
    type: str = ""
    status: str = "active"
    is_active: bool = True
    author: str = ""
    tags: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    created_at: int = 0
    updated_at: int = 0
    expires_at: int | None = None
    readers: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of a result, such as the priority of a task."""
    doubts: tuple[str, ...] = ()
    """What a reader must know before trusting the item."""
    bonus: float = 0.0
    """Added to the score, in standard deviations."""
    later: str = ""
    """The id of what replaced this item."""
    repeats: str = ""
    """The id of an item that says the same and more: beside it this one is not shown."""
    row: Row | None = None
    """The stored row, for the room itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSource:
    """A room lists one for each kind that it puts into the index.

    Where many entries are parts of one thing, `whole` tells which, so that it does not crowd out all others.
    `table` has the rows of the items, by project and id; without one the room writes its entries itself.
    """

    kind: str
    load: Callable[[Tx, str, Sequence[str]], Awaitable[Sequence[SearchItem]]]
    table: str = ""
    names: tuple[str, ...] = ()
    """Other words for the kind in `memory_types`."""
    types: tuple[str, ...] = ()
    """The types of its items that may be asked for in `memory_types`, if they have several."""
    has_free_types: bool = False
    """Do authors choose the types of its items?"""
    describe: Callable[[Row, int], Mapping[str, Any]] | None = None
    """Further fields of a result that depend on the time of now, from the item's row."""
    used: Callable[[Tx, Sequence[EntryUse]], Awaitable[None]] | None = None
    whole: Callable[[str], object] | None = None
    bonus: float = 0.0
    """Added to the score of every item, in standard deviations."""
    goes_stale: bool = False
    """Is an item to be checked before use if it did not change for long?"""
    is_general: bool = True
    """Is the kind part of a search over every kind?"""
    is_shared_with_all: bool = True
    """May every caller read the items of the shared project?"""


def reader_name(project: str, agent: str) -> str:
    """How an agent is named among the readers of an item: agents of one name in two projects are two agents."""
    return f"{project}/{agent}"
