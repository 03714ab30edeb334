"""A server that is fuzzed, and what must hold after every request: no 500, no -32603, no second of CPU, no stack trace."""

import http.client
import json
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

import product
from patience import PATIENCE_SECONDS

MAX_CPU_SECONDS = 1.0
_JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
_BUG_EVENTS = ("request failed", "background work failed", "Traceback (most recent call last)")


@dataclass(frozen=True)
class FuzzRequest:
    """What is sent, and enough to send it again: `corpus/` keeps those that once broke something."""

    method: str
    path: str
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=lambda: dict(_JSON))
    raw: bool = False

    def to_json(self) -> str:
        fields = {"method": self.method, "path": self.path, "headers": self.headers, "raw": self.raw}
        return json.dumps(fields | {"body": self.body.decode("latin-1")}, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "FuzzRequest":
        fields = json.loads(text)
        return cls(**(fields | {"body": fields["body"].encode("latin-1")}))


@dataclass
class FuzzServer:
    process: subprocess.Popen[bytes]
    port: int
    log: Path
    sent: int = 0
    statuses: dict[int, int] = field(default_factory=dict)

    def send(self, request: FuzzRequest) -> tuple[int, bytes]:
        """Send it and require that the server behaves; the answer, or (0, b"") if it closed the connection."""
        before = sum(self._cpu_times())
        status, body = self._send_raw(request) if request.raw else self._send_http(request)
        used = sum(self._cpu_times()) - before
        self.sent += 1
        self.statuses[status] = self.statuses.get(status, 0) + 1
        problem = find_problem(status, body, used)
        assert not problem, (
            f"{problem}\n{request.to_json()[:4000]}\n{body[:500]!r}\n{self.find_bugs_in_log()[-1:]}"
        )
        return status, body

    def call(self, operation: str, **arguments: Any) -> dict[str, Any]:
        status, body = self.send(FuzzRequest("POST", f"/api/{operation}", json.dumps(arguments).encode()))
        assert status == 200, body
        reply: dict[str, Any] = json.loads(body)
        return reply

    def find_bugs_in_log(self) -> list[str]:
        return [
            line[:3000]
            for line in self.log.read_text(errors="replace").splitlines()
            if any(event in line for event in _BUG_EVENTS)
        ]

    def memory_bytes(self) -> int:
        return int(psutil.Process(self.process.pid).memory_info().rss)

    def _cpu_times(self) -> tuple[float, float]:
        times = psutil.Process(self.process.pid).cpu_times()
        return times.user, times.system

    def _send_http(self, request: FuzzRequest) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        try:
            connection.request(request.method, request.path, request.body, request.headers)
            answer = connection.getresponse()
            is_stream = "event-stream" in (answer.getheader("Content-Type") or "")
            return answer.status, answer.read1(65536) if is_stream else answer.read()
        except (ConnectionError, http.client.RemoteDisconnected):
            return 0, b""
        finally:
            connection.close()

    def _send_raw(self, request: FuzzRequest) -> tuple[int, bytes]:
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_SECONDS) as connection:
            try:
                connection.sendall(request.body)
                connection.shutdown(socket.SHUT_WR)
                answer = connection.recv(65536)
            except ConnectionError:
                return 0, b""
        line = answer.partition(b"\r\n")[0].split(b" ")
        return (int(line[1]) if len(line) > 1 and line[1].isdigit() else 0), answer.partition(b"\r\n\r\n")[2]


def find_problem(status: int, body: bytes, cpu_seconds: float) -> str:
    """What is wrong with an answer; empty if nothing is."""
    if status == 500:
        return "HTTP 500"
    if b"-32603" in body and b'"error"' in body:
        return "JSON-RPC internal error"
    if b"Traceback (most recent" in body or b'File "/' in body:
        return "a stack trace left the server"
    if cpu_seconds > MAX_CPU_SECONDS:
        return f"one request took {cpu_seconds:.1f} s of CPU"
    return ""


@contextmanager
def run_fuzzed_server(folder: Path) -> Iterator[FuzzServer]:
    """A server with an empty store whose log goes to a file."""
    log = folder / "server.log"
    command = product.command("serve", "--port", "0", "--data", str(folder / "data"), "--embeddings", "off")
    with log.open("wb") as errors:
        process = subprocess.Popen(command, env=product.environment(), stdout=subprocess.PIPE, stderr=errors, cwd=tempfile.gettempdir())  # fmt: skip
    assert process.stdout is not None
    line = process.stdout.readline().decode()
    try:
        port = int(line.split("http://", 1)[1].split(" ", 1)[0].rsplit(":", 1)[1])
        yield FuzzServer(process, port, log)
    finally:
        process.kill()
        process.wait(PATIENCE_SECONDS)
        process.stdout.close()
