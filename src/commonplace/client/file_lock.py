"""A lock between processes of this user, which ends with the process that holds it."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def hold_lock(path: Path) -> Iterator[bool]:
    """Yield whether this process has the lock; it does not wait for it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with path.open("a+b") as file:
        yield _lock_descriptor(file.fileno())


def _lock_descriptor(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt  # Windows only

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl  # everywhere else

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
