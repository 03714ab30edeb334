"""Files that an agent has claimed without locking them. Rooms list theirs in `Room.file_claims`; `rooms/locks` shows them."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from commonplace.call import Call


@dataclass(frozen=True, slots=True)
class FileClaim:
    file: str
    agent: str
    item: str
    title: str


ListFileClaims = Callable[[Call], Awaitable[Sequence[FileClaim]]]
"""Lists the claims of other sessions in the project of the call."""
