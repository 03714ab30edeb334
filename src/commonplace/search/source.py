"""How the texts of one kind of entry are loaded again, to embed and to show them."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from commonplace.search.usage import EntryUse
from commonplace.store.database import Row, Tx


@dataclass(frozen=True, slots=True)
class SearchSource:
    """A room lists one for each kind that it puts into the index; `load` gives rows of id, title, text, and of what
    is read by other names than its id, the `place`. Where many entries are parts of one thing, `whole` tells which, so
    that it does not crowd out all others.
    """

    kind: str
    load: Callable[[Tx, str, Sequence[str]], Awaitable[Sequence[Row]]]
    used: Callable[[Tx, Sequence[EntryUse]], Awaitable[None]] | None = None
    whole: Callable[[str], object] | None = None
