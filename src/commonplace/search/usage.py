"""Which entries were shown to which session: collected in memory by reads, written together a second later."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

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
