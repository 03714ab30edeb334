"""Start a command of ours in the background; it outlives the agent and its terminal, and the agent does not wait for it."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

_MAX_LOG_BYTES = 1_000_000


def start_detached(
    words: list[str], log: Path, first_line: bytes = b"", environ: Mapping[str, str] | None = None
) -> None:
    """Run `commonplace WORDS` in the folder of its log. `first_line` is its standard input: an argument would be public."""
    import subprocess  # most hooks start nothing

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
            stdin=subprocess.PIPE if first_line else subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=log.parent,
            env=environ,
            **detached,
        )
    if process.stdin is not None:
        process.stdin.write(first_line)
        process.stdin.close()
    # Nobody waits for it: it ends after this process.
    process.returncode = 0


def _open_log(path: Path) -> BinaryIO:
    """The log file, emptied when it is too long."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    is_long = path.exists() and path.stat().st_size > _MAX_LOG_BYTES
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if is_long else os.O_APPEND), 0o600)
    return open(descriptor, "ab")  # noqa: PTH123 - of a descriptor
