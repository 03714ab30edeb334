"""Processes of ours: one in the background that outlives the agent and its terminal, and a lock between several."""

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

_MAX_LOG_BYTES = 1_000_000
_RETRY_SECONDS = 0.003


def start_detached(words: list[str], log: Path, environ: Mapping[str, str] | None = None) -> None:
    """Run `commonplace WORDS` in the folder of its log."""
    import subprocess  # most events start nothing

    detached: dict[str, Any] = (
        {"creationflags": 0x00000008 | 0x00000200}  # DETACHED_PROCESS, CREATE_NEW_PROCESS_GROUP
        if sys.platform == "win32"
        else {"start_new_session": True}
    )
    # -P: the current folder may contain a module of any name.
    command = [sys.executable, "-P", "-m", "commonplace", *words]
    with _open_log(log) as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=log.parent,
            env=dict(os.environ) if environ is None else environ,
            **detached,
        )
    # A daemon thread collects its exit code in a process that stays, and is nothing to one that ends before it.
    threading.Thread(target=process.wait, daemon=True).start()


def _open_log(path: Path) -> BinaryIO:
    """The log file, emptied when it is too long."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    is_long = path.exists() and path.stat().st_size > _MAX_LOG_BYTES
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if is_long else os.O_APPEND), 0o600)
    return open(descriptor, "ab")  # noqa: PTH123 - of a descriptor


@contextlib.contextmanager
def hold_lock(path: Path, seconds: float = 0.0) -> Iterator[bool]:
    """Yield whether this process has the lock, which ends with the process; it waits at most this long for it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with path.open("a+b") as file:
        deadline = time.monotonic() + seconds
        is_held = _lock_descriptor(file.fileno())
        while not is_held and time.monotonic() < deadline:
            time.sleep(_RETRY_SECONDS)
            is_held = _lock_descriptor(file.fileno())
        yield is_held


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
