"""What other agents did with files without locking them: claimed, or changed.

Rooms list theirs in `Room.file_claims` and `Room.file_changes`; `rooms/locks` shows them to whoever locks the files.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from commonplace.call import Call


@dataclass(frozen=True, slots=True)
class FileClaim:
    file: str
    agent: str
    item: str
    title: str
    is_unplaced: bool = False
    """Is it a name without a directory of which no file is known?"""


@dataclass(frozen=True, slots=True)
class FileChange:
    file: str
    agent: str
    at: int


ListFileClaims = Callable[[Call], Awaitable[Sequence[FileClaim]]]
"""Lists the claims of other sessions in the project of the call."""
ListFileChanges = Callable[[Call, Sequence[str]], Awaitable[Sequence[FileChange]]]
"""Lists what other sessions changed in these files since the session of the call last touched them."""
