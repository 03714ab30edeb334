"""The data folder: held by one process at a time, and known to be the one that was created."""

import os
import sys
from pathlib import Path
from typing import IO

from commonplace import errors

DATABASE = "commonplace.db"
_MARKER = "commonplace.created"
_LOCK = "commonplace.lock"


class DataFolder:
    """Holds the folder until closed; a second process is refused in words."""

    def __init__(self, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.path = path
        self.database = path / DATABASE
        self._lock = lock_file(path / _LOCK)
        self._require_database()

    def _require_database(self) -> None:
        created = (self.path / _MARKER).exists()
        there = self.database.exists() and self.database.stat().st_size > 0
        if created and not there:
            self.close()
            raise errors.Unavailable(
                f"The database {self.database} is gone or empty, though this folder had one.",
                hint=f"To go on, restore {DATABASE} from a backup into {self.path}. Nothing was created in its place.",
            )

    def mark_created(self) -> None:
        (self.path / _MARKER).touch()

    def close(self) -> None:
        self._lock.close()


def find_holder(path: Path) -> int | None:
    """The process that holds the folder, if one does."""
    try:
        lock_file(path / _LOCK).close()
    except errors.Unavailable as taken:
        return int(taken.details["pid"])
    except FileNotFoundError:
        return None
    return None


def lock_file(path: Path) -> IO[str]:
    """The lock of a file, until it is closed; Unavailable names the process that has it."""
    file = path.open("a+")
    try:
        _lock_handle(file)
    except OSError:
        file.seek(0)
        pid = file.read().strip() or "0"
        file.close()
        raise errors.Unavailable(
            f"Another process (pid {pid}) has the data folder {path.parent} open.",
            hint="Use that server, stop it, or give this one another folder with --data.",
            pid=int(pid),
        ) from None
    file.truncate(0)
    file.write(str(os.getpid()))
    file.flush()
    return file


if sys.platform == "win32":
    import msvcrt

    def _lock_handle(file: IO[str]) -> None:
        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock_handle(file: IO[str]) -> None:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
