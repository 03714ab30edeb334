"""The product as a user starts it: a process, an address, requests."""

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from patience import PATIENCE_SECONDS, wait_until


@dataclass
class Product:
    """A running `commonplace serve`."""

    process: subprocess.Popen[str]
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def request(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, bytes, dict[str, str]]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return response.status, response.read(), {k.lower(): v for k, v in response.getheaders()}
        finally:
            connection.close()

    def call(self, operation: str, key: str = "", **arguments: Any) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        status, body, _ = self.request("POST", f"/api/{operation}", json.dumps(arguments).encode(), headers)
        reply = json.loads(body)
        if status != 200:
            raise Refused(status, reply)
        return reply

    def kill(self) -> None:
        """As a crash would: no chance to say goodbye."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(PATIENCE_SECONDS)

    def stop(self) -> int:
        self.process.terminate()
        return self.process.wait(PATIENCE_SECONDS)


class Refused(Exception):
    def __init__(self, status: int, body: dict[str, Any]) -> None:
        super().__init__(status, body)
        self.status, self.body = status, body


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "commonplace", *arguments]


def environment(**more: str) -> dict[str, str]:
    """The test's environment without settings that a developer may have, in it or in a home of our own."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("COMMONPLACE_", "MCP_"))
    }
    home = str(Path(tempfile.gettempdir(), "commonplace-nobody"))
    return kept | {"COMMONPLACE_HOME": home, "COMMONPLACE_HOOKS_COMPANION": "0"} | more


def store_flags(address: Path | str, folder: Path) -> list[str]:
    """--data and --store for a folder (SQLite) or an address (PostgreSQL)."""
    if isinstance(address, Path):
        return ["--data", str(address)]
    return ["--data", str(folder), "--store", address]


def start(*flags: str, within: Sequence[str] = (), **more: str) -> Product:
    """Start the server on a free port and wait until it says where; `within` is a command that runs it."""
    process = subprocess.Popen(
        [*within, *command("serve", "--port", "0", *flags)],
        env=environment(**more),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    if "listens at" not in line:
        process.kill()
        raise RuntimeError(f"the server did not start: {line}")
    port = int(line.split("http://", 1)[1].split(" ", 1)[0].rsplit(":", 1)[1])
    product = Product(process, port)
    wait_until(lambda: _is_ready(product))
    return product


def _is_ready(product: Product) -> bool:
    with contextlib.suppress(OSError):
        return product.request("GET", "/ready")[0] == 200
    return False


@contextlib.contextmanager
def running(*flags: str, within: Sequence[str] = (), **more: str) -> Iterator[Product]:
    product = start(*flags, within=within, **more)
    try:
        yield product
    finally:
        if product.process.poll() is None:
            product.kill()
        if product.process.stdout:
            product.process.stdout.close()
