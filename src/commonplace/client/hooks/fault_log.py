"""The log of faults in hooks: COMMONPLACE_HOME/hooks.log, and the previous file as hooks.log.1."""

import os
import time

from commonplace.client import remote

_MAX_LOG_BYTES = 256 * 1024


def log_fault(where: str, wrong: BaseException) -> None:
    """Append one line; a hook that cannot write it stays silent."""
    at = wrong.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    line = f" (line {at.tb_lineno} of {os.path.basename(at.tb_frame.f_code.co_filename)})" if at else ""  # noqa: PTH119 - a string, not a Path
    log_text(where, f"{type(wrong).__name__}: {wrong}{line}")


def log_text(where: str, text: str) -> None:
    try:
        _append_line(
            f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {where}: {' '.join(text.split())[:1000]}\n"
        )
    except OSError:
        return


def _append_line(line: str) -> None:
    place = remote.client_home() / "hooks.log"
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with open(descriptor, "wb", buffering=0) as file:  # noqa: PTH123 - of a descriptor
        file.write(line.encode("utf-8", "replace"))
        full = file.tell() > _MAX_LOG_BYTES
    if full:
        place.replace(place.with_suffix(".log.1"))
