"""What other agents changed in files without locking them.

Rooms list theirs in `Room.file_changes`; `rooms/locks` shows them to whoever locks the files.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from commonplace.call import Call


@dataclass(frozen=True, slots=True)
class FileChange:
    file: str
    agent: str
    at: int


ListFileChanges = Callable[[Call, Sequence[str]], Awaitable[Sequence[FileChange]]]
"""Lists what other sessions changed in these files since the session of the call last touched them."""
