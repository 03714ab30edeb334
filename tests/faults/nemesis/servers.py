"""Servers as processes: start, kill, freeze, and commands to them. `server_program.py` is what they run."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import product
from nemesis.http_calls import HttpCaller, NoAnswer
from nemesis.server_start import ServerStart
from patience import PATIENCE_SECONDS
from postgres_process import free_port

_HERE = Path(__file__).parent
_LOOK_AGAIN_SECONDS = 0.02


class Launcher:
    """The process that forks servers."""

    def __init__(self) -> None:
        paths = [str(_HERE.parent), str(_HERE.parent.parent), os.environ.get("PYTHONPATH", "")]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "nemesis.server_program"],
            env=product.environment(PYTHONPATH=os.pathsep.join(paths), COMMONPLACE_EMBEDDINGS="off"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._ask("ready")

    def fork(self, start: ServerStart) -> int:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(asdict(start)) + "\n")
        self._process.stdin.flush()
        return int(self._ask())

    def _ask(self, expected: str = "") -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        if not line or (expected and line != expected):
            raise RuntimeError(f"the launcher of servers said {line!r}")
        return line

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@contextlib.contextmanager
def running_launcher() -> Iterator[Launcher]:
    launcher = Launcher()
    try:
        yield launcher
    finally:
        launcher.close()


class ServerProcess:
    """One server at one port; it keeps both over restarts."""

    def __init__(self, launcher: Launcher, folder: Path, flags: list[str], lease_seconds: float) -> None:
        self._launcher, self._folder, self._lease_seconds = launcher, folder, lease_seconds
        folder.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self._flags = flags
        self._sockets = Path(tempfile.mkdtemp(prefix="nemesis-"))
        self._starts = 0
        self.pid = 0
        self.is_frozen = False
        self.unsynced = folder / "unsynced"
        self.notes_unsynced = False
        self.has_database_clock = False
        self.mutants: list[str] = []
        self.clock_seconds = 0.0

    @property
    def log(self) -> Path:
        return self._folder / "server.log"

    def start(self) -> None:
        self._starts += 1
        start = ServerStart(
            [
                "serve",
                "--port",
                str(self.port),
                "--log-level",
                "warning",
                "--rate-per-key",
                "0",
                *self._flags,
            ],
            str(self._sockets / str(self._starts)),
            str(self.log),
            self._lease_seconds,
            str(self.unsynced) if self.notes_unsynced else "",
            self.has_database_clock,
            self.mutants,
            self.clock_seconds,
        )
        self.pid = self._launcher.fork(start)

    def send(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def is_alive(self) -> bool:
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        return True

    async def kill(self) -> None:
        await self._end(signal.SIGKILL)

    async def stop(self) -> None:
        await self._end(signal.SIGTERM)

    async def _end(self, number: int) -> None:
        self.send(number)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while self.is_alive():  # noqa: ASYNC110 - nobody signals it
                await asyncio.sleep(_LOOK_AGAIN_SECONDS)

    def command(self, **command: object) -> None:
        with socket.socket(socket.AF_UNIX) as peer:
            peer.settimeout(PATIENCE_SECONDS)
            peer.connect(str(self._sockets / str(self._starts)))
            peer.sendall(json.dumps(command).encode() + b"\n")
            if peer.recv(16) != b"done\n":
                raise RuntimeError(f"the server at port {self.port} did not obey {command}")

    async def is_ready(self) -> bool:
        caller = HttpCaller(1.0)
        try:
            return (await caller.request(self.port, "GET", "/ready")).status == 200
        except NoAnswer:
            return False
        finally:
            caller.close()

    async def wait_until_ready(self) -> None:
        ends = asyncio.get_running_loop().time() + PATIENCE_SECONDS
        while not await self.is_ready():
            if not self.is_alive() or asyncio.get_running_loop().time() > ends:
                raise RuntimeError(f"a server is not ready; the end of its log: {self.read_log()[-3000:]}")
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)

    def read_log(self) -> str:
        return self.log.read_text() if self.log.exists() else ""

    def close(self) -> None:
        if self.pid:
            self.send(signal.SIGKILL)
        shutil.rmtree(self._sockets, ignore_errors=True)
