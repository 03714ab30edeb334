"""The data folder: private, and locked by one process at a time. A database that has disappeared is not created again."""

import logging
import os
import stat
import sys
from pathlib import Path
from typing import IO

from commonplace import errors
from commonplace.beacon import BEACON

_log = logging.getLogger(__name__)

DATABASE = "commonplace.db"
_OWN_PREFIX = "commonplace."
_OF_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_MARKER = "commonplace.created"
_LOCK = "commonplace.lock"


class DataFolder:
    """Locks the folder until closed; raises Unavailable if another process has it, or if it cannot be written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.database = path / DATABASE
        try:
            self._lock = lock_data_folder(path)
            make_private(path)
        except OSError as error:
            raise errors.Unavailable(
                f"The data folder {path} cannot be used: {error.strerror or error}.",
                hint="Name a folder that you may write to with --data.",
            ) from None
        self._require_database()
        self.database.touch(mode=0o600)

    def _require_database(self) -> None:
        created = (self.path / _MARKER).exists()
        there = self.database.exists() and self.database.stat().st_size > 0
        if created and not there:
            self.close()
            raise errors.Unavailable(
                f"The database {self.database} is missing or empty, but this folder had one.",
                hint=f"No new database was created. Run: commonplace restore BACKUP --data {self.path}",
            )

    def mark_created(self) -> None:
        mark_created(self.path)

    def close(self) -> None:
        self._lock.close()


def make_private(folder: Path) -> None:
    """Let only the owner read our files, whoever created them, and the folder if nothing else is in it.

    The files of a new database take over the mode of the database. A folder with other files, or of another user,
    keeps its mode: it may be somebody's home. Does nothing on Windows, where a user's folders are private.
    """
    if sys.platform == "win32":
        return
    entries = list(folder.iterdir())
    own_files = [path for path in entries if path.name.startswith(_OWN_PREFIX) or path.name == BEACON]
    changed = []
    for path in own_files if len(own_files) < len(entries) else [folder, *own_files]:
        status = path.lstat()
        is_plain = stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
        if is_plain and status.st_uid == os.getuid() and stat.S_IMODE(status.st_mode) & _OF_OTHERS:
            path.chmod(stat.S_IMODE(status.st_mode) & ~_OF_OTHERS)
            changed.append(path.name)
    if changed:
        _log.warning("made private", extra={"folder": str(folder), "files": ", ".join(sorted(changed))})


def lock_data_folder(path: Path) -> IO[str]:
    """Keep every server out of this folder until the returned file is closed, whatever is in it."""
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    return lock_file(path / _LOCK)


def mark_created(path: Path) -> None:
    """From now on a server refuses to create a new database here if this one disappears."""
    (path / _MARKER).touch(mode=0o600)


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
    file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), "a+")
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
