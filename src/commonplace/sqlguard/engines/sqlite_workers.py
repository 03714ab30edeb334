"""Warm worker processes for queries to SQLite files (`sqlite_worker.py`), so that a query does not start a process.

A worker belongs to one file and runs one query at a time. It is killed when a query is cancelled, and ends by itself
after some queries, some time without one, or when it comes near its limits. Starting one costs 150 ms of CPU, a query 1.
"""

import atexit
import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from commonplace.sqlguard import allowed, system_relations
from commonplace.sqlguard.engines.rows import MAX_CELL_CHARACTERS, MAX_RESULT_BYTES

_WORKER_SCRIPT = Path(__file__).with_name("sqlite_worker.py")
# The variables that Python needs to start; the worker gets no others.
_WORKER_ENVIRONMENT = ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT")
_MAX_IDLE_WORKERS_PER_FILE = 2
_MAX_IDLE_WORKERS = 8
UNKNOWN_SCHEMA = ""


class WorkerEnded(Exception):
    """The worker ended without an answer: it was killed, exceeded its memory or time, or had been idle for long."""

    def __init__(self, *, was_idle: bool) -> None:
        super().__init__()
        self.was_idle = was_idle


class SqliteWorker:
    """One process that reads one file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.schema = UNKNOWN_SCHEMA
        self.views: dict[str, str] = {}
        """The definitions of the views that this schema has."""
        self.search_tables: list[str] = []
        self._process = subprocess.Popen(
            [sys.executable, "-E", "-s", str(_WORKER_SCRIPT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: os.environ[name] for name in _WORKER_ENVIRONMENT if name in os.environ},
        )
        self._send(
            {
                "path": path,
                "functions": sorted(allowed.load_function_names("sqlite")),
                "pragmas": sorted(
                    system_relations.PRAGMAS_WITH_ARGUMENT | system_relations.PRAGMAS_WITHOUT_ARGUMENT
                ),
                "max_cell": MAX_CELL_CHARACTERS,
                "max_bytes": MAX_RESULT_BYTES,
            }
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to one request; raises WorkerEnded if there is none."""
        self._send(request)
        try:
            line = self._process.stdout.readline() if self._process.stdout else b""
        except ValueError:  # killed from another thread
            line = b""
        if not line.endswith(b"\n"):
            raise self._end()
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _end(self) -> WorkerEnded:
        self.kill()
        return WorkerEnded(was_idle=self._process.returncode == 0)

    def _send(self, request: Mapping[str, Any]) -> None:
        try:
            if self._process.stdin:
                self._process.stdin.write(json.dumps(request).encode() + b"\n")
                self._process.stdin.flush()
        except (OSError, ValueError):
            raise self._end() from None

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                if pipe:
                    pipe.close()


class WorkerPool:
    """Idle workers, the last used at the end. A worker is lent to one query at a time, so only the list needs a lock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[SqliteWorker] = []

    def take(self, path: str) -> SqliteWorker:
        while worker := self._pop_idle(path):
            if worker.is_alive:
                return worker
            worker.kill()
        return SqliteWorker(path)

    def _pop_idle(self, path: str) -> SqliteWorker | None:
        with self._lock:
            worker = next((idle for idle in reversed(self._idle) if idle.path == path), None)
            if worker:
                self._idle.remove(worker)
            return worker

    def give_back(self, worker: SqliteWorker) -> None:
        """Keep the worker for the next query; the ones that were not used for the longest time make room."""
        with self._lock:
            self._idle.append(worker)
            same_file = [idle for idle in self._idle if idle.path == worker.path]
            excess = same_file[:-_MAX_IDLE_WORKERS_PER_FILE] or self._idle[:-_MAX_IDLE_WORKERS]
            self._idle = [idle for idle in self._idle if idle not in excess]
        for unused in excess:
            unused.kill()

    def list_pids(self) -> list[int]:
        """The processes of the idle workers."""
        with self._lock:
            return [worker.pid for worker in self._idle]

    def close(self) -> None:
        with self._lock:
            workers, self._idle = self._idle, []
        for worker in workers:
            worker.kill()


WORKERS = WorkerPool()
atexit.register(WORKERS.close)
