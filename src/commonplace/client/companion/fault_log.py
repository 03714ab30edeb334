"""The log of faults in hooks: COMMONPLACE_HOME/hooks.log, and the previous file as hooks.log.1."""

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
