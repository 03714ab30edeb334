"""The data folder: locked by one process at a time. A database that has disappeared is refused, not created again."""

import os
import sys
from pathlib import Path
from typing import IO

from commonplace import errors

DATABASE = "commonplace.db"
_MARKER = "commonplace.created"
_LOCK = "commonplace.lock"


class DataFolder:
    """Locks the folder until closed; raises Unavailable if another process has it."""

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
                f"The database {self.database} is missing or empty, but this folder had one.",
                hint=f"Restore {DATABASE} from a backup into {self.path}. No new database was created.",
            )

    def mark_created(self) -> None:
        (self.path / _MARKER).touch()

    def close(self) -> None:
        self._lock.close()


def find_holder(path: Path) -> int | None:
    """The id of the process that has the folder open, if any."""
    try:
        lock_file(path / _LOCK).close()
    except errors.Unavailable as taken:
        return int(taken.details["pid"])
    except FileNotFoundError:
        return None
    return None


def lock_file(path: Path) -> IO[str]:
    """Lock a file until it is closed; raises Unavailable with the id of the process that has it."""
    file = path.open("a+")
    try:
        _lock_handle(file)
    except OSError:
        file.seek(0)
        pid = file.read().strip() or "0"
        file.close()
        raise errors.Unavailable(
            f"Another process (pid {pid}) has the data folder {path.parent} open.",
            hint="Use that server, stop it, or use another folder with --data.",
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
