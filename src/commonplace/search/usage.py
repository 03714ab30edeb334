"""What was shown to whom: gathered while reading, written down a moment later, in one transaction for many."""

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
    """Bounded: under a storm the oldest are forgotten, which costs nothing but a count."""

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
        """Those of a session that are not written down yet."""
        return [use for use in islice(self._uses.copy(), _MAX_UNWRITTEN_USES) if use.session == session]
