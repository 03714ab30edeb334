"""What a question found: a hit of the index with the item that it stands for."""

from dataclasses import dataclass

from commonplace.search.find import Hit, show_relevance
from commonplace.search.source import SearchItem
from commonplace.store.database import Row


@dataclass(frozen=True, slots=True)
class RecalledItem:
    """A hit with its item; `closeness` is that of the hit with the bonus of the item."""

    hit: Hit
    item: SearchItem
    closeness: float

    @property
    def row(self) -> Row:
        return self.item.row or {}

    @property
    def broken(self) -> Row | None:
        """The worst broken citation of a document."""
        return self.row.get("broken")

    @property
    def changed_at(self) -> int:
        return int(self.hit.row["changed_at"])

    @property
    def relevance(self) -> float:
        return show_relevance(self.closeness)
