"""Wait for an answer that comes too late for the agent, in a process of its own.

After a timeout the server counts as away for a minute. If it was only slow, its answer ends that early, and its time
makes the next limit longer. No further request is sent.
"""

import os
import socket
import sys
import time

from commonplace.client.companion.server_record import ServerRecord

_LATE_SECONDS = 10.0


def watch_connection(connection: socket.socket, record: ServerRecord, started: float) -> None:
    """`started` is when the request was sent. The agent does not wait for the process that this starts."""
    if not hasattr(os, "fork") or _has_threads() or os.fork() != 0:
        return
    try:
        _detach()
        connection.settimeout(_LATE_SECONDS)
        if connection.recv(1):
            record.record_answer(time.monotonic() - started)
    finally:
        os._exit(0)


def _has_threads() -> bool:
    """Such as one that still resolves a name: a fork would copy its locks."""
    threading = sys.modules.get("threading")
    return threading is not None and threading.active_count() > 1


def _detach() -> None:
    """Let go of the agent's pipes, which it reads to their end, and of its terminal."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nothing, descriptor)
