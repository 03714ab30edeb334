"""Starts the server of a data folder as a separate process that outlives the proxy."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from commonplace import data_folder as folders
from commonplace.client.link.message import UNAVAILABLE, RpcRefusal

_IDLE_SECONDS: Final = 1800
_POLL_SECONDS: Final = 0.05
_LOG_NAME: Final = "server.log"
_MAX_LOG_BYTES: Final = 4 * 1024 * 1024
# Settings of one agent, not of the server that all agents share.
_AGENT_VARIABLES: Final = frozenset(
    {
        "COMMONPLACE_URL",
        "COMMONPLACE_KEY",
        "COMMONPLACE_TOOLSETS",
        "COMMONPLACE_DATA",
        "COMMONPLACE_TRANSPORT",
    }
)


class StartedServer:
    """A server process that is starting."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path, before: int) -> None:
        self._process, self.log, self._before = process, log, before
        # Without a wait the ended child remains a zombie process.
        threading.Thread(target=process.wait, daemon=True).start()

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def last_error(self) -> str:
        """The last message for the user in its log since the start."""
        with self.log.open("rb") as log:
            log.seek(self._before)
            lines = log.read().decode("utf-8", "replace").splitlines()
        messages = [line for line in lines if line.startswith("commonplace: ")]
        return messages[-1].removeprefix("commonplace: ") if messages else f"See {self.log}."


def wait_until_free(folder: Path, answering: Callable[[], str | None], until: float) -> str | None:
    """Wait while another process holds the folder; return the address if it is a server that comes up."""
    while (pid := folders.find_holder(folder)) is not None:
        if url := answering():
            return url
        if time.monotonic() > until:
            raise RpcRefusal(UNAVAILABLE, f"The process {pid} has {folder} open but does not answer.")
        time.sleep(_POLL_SECONDS)
    return None


def start_server(folder: Path) -> StartedServer:
    log = folder / _LOG_NAME
    descriptor = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "ab") as output:
        if output.tell() > _MAX_LOG_BYTES:
            output.truncate(0)
        before = output.tell()
        process = subprocess.Popen(
            _serve_command(folder),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=folder,
            env={name: value for name, value in os.environ.items() if name not in _AGENT_VARIABLES},
            start_new_session=True,
            creationflags=getattr(subprocess, "DETACHED_PROCESS", 0),
        )
    return StartedServer(process, log, before)


def _serve_command(folder: Path) -> list[str]:
    # -P: the current folder may contain a module of any name.
    command = [
        sys.executable,
        "-P",
        "-m",
        "commonplace",
        "serve",
        "--transport",
        "http",
        "--data",
        str(folder),
    ]
    if "COMMONPLACE_PORT" not in os.environ:
        command += ["--port", "0"]
    if "COMMONPLACE_IDLE_SECONDS" not in os.environ:
        command += ["--idle-seconds", str(_IDLE_SECONDS)]
    return command
