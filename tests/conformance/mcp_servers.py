"""Servers under test, as their users start them: by a command line, over HTTP or over a pipe."""

import contextlib
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from patience import wait_until

FIXTURES = [sys.executable, str(Path(__file__).with_name("fixture_host.py"))]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


@contextlib.contextmanager
def run_server(command: list[str], port: int) -> Iterator[str]:
    """Run a command that serves MCP on this port; yields the address of its endpoint."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL) as server:
        try:
            wait_until(lambda: _accepts_connections(port, server))
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            server.terminate()


def _accepts_connections(port: int, server: subprocess.Popen[bytes]) -> bool:
    if server.poll() is not None:
        raise RuntimeError(f"nothing serves port {port}; the command ended with {server.returncode}")
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False
