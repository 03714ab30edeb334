"""What was shown to whom: gathered while reading, written down a moment later, in one transaction for many."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

_MOST = 20_000


@dataclass(frozen=True, slots=True)
class Use:
    project: str
    kind: str
    id: str
    session: str
    opened: bool
    at: int


class Uses:
    """Bounded: under a storm the oldest are forgotten, which costs nothing but a count."""

    def __init__(self) -> None:
        self._uses: deque[Use] = deque(maxlen=_MOST)

    def note(self, uses: Sequence[Use]) -> None:
        self._uses.extend(uses)

    def take(self) -> list[Use]:
        taken: list[Use] = []
        while self._uses and len(taken) < _MOST:
            taken.append(self._uses.popleft())
        return taken

    def of(self, session: str) -> list[Use]:
        """Those of a session that are not written down yet."""
        return [use for use in islice(self._uses.copy(), _MOST) if use.session == session]
