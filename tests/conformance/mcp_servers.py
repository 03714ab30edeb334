"""Servers under test, as their users start them: by a command line, over HTTP or over a pipe."""

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

FIXTURES = [sys.executable, str(Path(__file__).with_name("fixture_host.py"))]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


@contextlib.contextmanager
def served(command: list[str], port: int) -> Iterator[str]:
    """Runs a command that serves MCP on this port; the address of its endpoint."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL) as server:
        try:
            wait_for(port, server)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            server.terminate()


def wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and server.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    raise RuntimeError(f"nothing serves port {port}; the command ended with {server.poll()}")
