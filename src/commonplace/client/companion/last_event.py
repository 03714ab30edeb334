"""When the hooks of each agent last ran: the times of files in COMMONPLACE_HOME/heard. `commonplace doctor` shows them.

A hook runs beside every edit, so this is one system call.
"""

import os

from commonplace.client.link import remote


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
