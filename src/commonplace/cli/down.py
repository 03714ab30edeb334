"""`commonplace down`: stop the server of a data folder, such as one that `up` or `stdio` started in the background."""

import argparse
import os
import signal
import time

from commonplace import config, errors
from commonplace.beacon import is_process_alive, read_beacon
from commonplace.data_folder import find_holder

_STOP_SECONDS = 30
_POLL_SECONDS = 0.1
_SHOWN_SECONDS = 1.5


def run(arguments: argparse.Namespace) -> int:
    folder = config.read_settings({"data": arguments.data}).data
    pid = find_holder(folder) or read_beacon(folder).get("pid")
    if not pid or not is_process_alive(pid):
        print(f"No server runs on {folder}.")
        return 0
    try:
        os.kill(pid, signal.SIGTERM)
    except PermissionError:
        raise errors.Forbidden(
            f"The server of {folder} (process {pid}) belongs to another user.",
            hint=f"Stop it as that user: kill {pid}",
        ) from None
    _wait_until_stopped(pid)
    print(
        f"Stopped the server of {folder} (process {pid}). The data stays; start it again with: commonplace up"
    )
    return 0


def _wait_until_stopped(pid: int) -> None:
    """A server finishes the calls that it has begun, so it may take a moment."""
    started = shown = time.monotonic()
    while is_process_alive(pid):
        now = time.monotonic()
        if now - started > _STOP_SECONDS:
            raise errors.Unavailable(
                f"The process {pid} has not stopped after {_STOP_SECONDS} s.",
                hint=f"See its log, or end it with: kill -9 {pid}. No acknowledged write is lost.",
            )
        if now - shown > _SHOWN_SECONDS:
            shown = now
            print("still stopping", flush=True)
        time.sleep(_POLL_SECONDS)
