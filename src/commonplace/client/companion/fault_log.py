"""The log of faults in hooks, COMMONPLACE_HOME/hooks.log (the previous file: hooks.log.1), and when hooks last ran."""

import os
import time

from commonplace.client.link import remote

_MAX_LOG_BYTES = 256 * 1024


def log_fault(where: str, error: BaseException) -> None:
    """Append one line; a hook that cannot write it stays silent."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    file = os.path.basename(frame.tb_frame.f_code.co_filename) if frame else ""  # noqa: PTH119 - a string, not a Path
    position = f" (line {frame.tb_lineno} of {file})" if frame else ""
    log_text(where, f"{type(error).__name__}: {error}{position}")


def log_text(where: str, text: str) -> None:
    try:
        _append_line(
            f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {where}: {' '.join(text.split())[:1000]}\n"
        )
    except OSError:
        return


def _append_line(line: str) -> None:
    path = remote.client_home() / "hooks.log"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with open(descriptor, "wb", buffering=0) as file:  # noqa: PTH123 - of a descriptor
        file.write(line.encode("utf-8", "replace"))
        full = file.tell() > _MAX_LOG_BYTES
    if full:
        path.replace(path.with_suffix(".log.1"))


def note_event(agent: str) -> None:
    """Remember that a hook of this agent ran; one that cannot is not stopped."""
    path = remote.client_home() / "heard" / agent
    try:
        os.utime(path)
    except FileNotFoundError:
        _create_file(str(path))
    except OSError:
        return


def _create_file(path: str) -> None:
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)  # noqa: PTH103, PTH120 - strings are quicker here
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    except OSError:
        return


def read_last_event(agent: str) -> float | None:
    """Seconds since 1970; None if no hook of this agent ever ran."""
    try:
        return (remote.client_home() / "heard" / agent).stat().st_mtime
    except OSError:
        return None
