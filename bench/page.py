"""python -m bench.page: what each view of the web page asks for when it opens, on a large project.

100,000 documents, 50,000 messages, 10,000 backlog items and 200 live agents in one project. The aim is that the shell and
the first data of every view come within 300 ms on loopback; a view's calls are sent one after the other here.
"""

import argparse
import asyncio
import contextlib
import json
import os
import statistics
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from bench.__main__ import find_postgres_pids, free_port, running_postgres, running_server
from bench.http_load import read_cpu_seconds
from bench.page_data import PROJECT, PageSizes, fill_store
from bench.tables import print_table
from commonplace.clock import read_wall_clock
from commonplace.edges import web
from commonplace.store.migrate import migrate
from commonplace.store.postgres import Postgres
from commonplace.store.sqlite import Sqlite

Fields = dict[str, Any]

_DAY_AGO = (datetime.now(UTC) - timedelta(days=1)).isoformat()
SHELL: list[tuple[str, Fields]] = [
    ("memory_get_live_state", {"project": "*"}),
    ("memory_list_projects", {"limit": 100}),
]
VIEWS: dict[str, list[tuple[str, Fields]]] = {
    "every view": SHELL,
    "Now": [("memory_list_events", {"project": "*", "limit": 200})],
    "Work": [
        ("memory_list_backlog", {"project": "*", "limit": 100}),
        ("memory_list_backlog", {"project": "*", "limit": 100, "offset": 100}),
        ("memory_list_backlog", {"project": "*", "limit": 100, "offset": 200}),
        ("memory_list_backlog", {"project": "*", "limit": 100, "status": "done"}),
    ],
    "Knowledge": [("memory_list_documents", {"project": PROJECT, "limit": 100, "needs_look": False})],
    "Knowledge, to look at": [
        ("memory_list_documents", {"project": PROJECT, "limit": 100, "needs_look": True})
    ],
    "Messages": [
        ("memory_list_threads", {"project": PROJECT, "limit": 100}),
        ("memory_list_agents", {"project": PROJECT, "limit": 200}),
    ],
    "Messages, blackboards": [("list_sessions", {"project": PROJECT, "active_only": False, "limit": 100})],
    "Sessions": [("memory_list_transcripts", {"project": "*", "limit": 100})],
    "Code": [("memory_browse_functions", {"project": PROJECT, "path_pattern": "", "limit": 200})],
    "Time": [("memory_list_events", {"project": "*", "since": _DAY_AGO, "limit": 500})],
    "Time, standup": [("memory_get_standup", {"project": "*", "since": _DAY_AGO})],
    "Admin": [("memory_admin", {"action": "list_keys", "limit": 200})],
    "Admin, audit": [("memory_admin", {"action": "audit_log", "limit": 200})],
    "Admin, guidelines": [("memory_guidelines", {"action": "list"})],
    "Admin, health": [("memory_health", {})],
}


@contextlib.contextmanager
def open_large_server(store: str, sizes: PageSizes, kept: str) -> Iterator[tuple[int, list[int]]]:
    """A real server on generated rows, which are made once where `kept` names a folder."""
    with contextlib.ExitStack() as stack:
        folder = Path(kept or stack.enter_context(tempfile.TemporaryDirectory(prefix="commonplace-bench-")))
        is_new = not (folder / "filled").exists()
        flags, pids = ["--data", str(folder)], []
        if store == "postgresql":
            dsn, base = stack.enter_context(running_postgres())
            flags += ["--store", dsn]
            asyncio.run(_fill(dsn, folder, sizes))
            pids = find_postgres_pids(base)
        elif is_new:
            folder.mkdir(parents=True, exist_ok=True)
            asyncio.run(_fill("", folder, sizes))
            (folder / "filled").touch()
        port = free_port()
        command = ("-m", "commonplace", "serve", "--port", str(port), "--auth", "off", "--embeddings", "off")
        yield port, stack.enter_context(running_server(port, *command, *flags)) + pids


async def _fill(dsn: str, folder: Path, sizes: PageSizes) -> None:
    database = await Postgres.open(dsn) if dsn else Sqlite(folder, read_wall_clock)
    try:
        await migrate(database)
        await fill_store(database, sizes)
        if dsn:
            # As autovacuum does by itself a minute after such a load.
            await database.write(lambda tx: tx.run("analyze"))
    finally:
        await database.close()


def measure_calls(
    port: int, pids: list[int], calls: list[tuple[str, Fields]], rounds: int
) -> list[tuple[float, float, int]]:
    """Of each call: the mean CPU and the median time in milliseconds, and the bytes of the reply."""
    return [_measure_call(port, pids, operation, given, rounds) for operation, given in calls]


def _measure_call(
    port: int, pids: list[int], operation: str, given: Fields, rounds: int
) -> tuple[float, float, int]:
    times, size, before = [], 0, read_cpu_seconds(pids)
    for _ in range(rounds):
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/api/{operation}",
            json.dumps(given).encode(),
            {"Content-Type": "application/json"},
        )
        began = time.perf_counter()
        with urllib.request.urlopen(request) as response:
            size = len(response.read())
        times.append(1e3 * (time.perf_counter() - began))
    return 1e3 * (read_cpu_seconds(pids) - before) / rounds, statistics.median(times), size


def measure_shell(port: int) -> float:
    """The time of the page's own file and its scripts, one after the other, in milliseconds."""
    origin = f"http://127.0.0.1:{port}"
    began = time.perf_counter()
    with urllib.request.urlopen(origin) as response:
        version = response.read().decode().partition("/assets/")[2].partition("/")[0]
    for path in (resources.files(web) / "assets").iterdir():
        if path.name.endswith((".js", ".css")):
            with urllib.request.urlopen(f"{origin}/assets/{version}/{path.name}") as response:
                response.read()
    return 1e3 * (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser("bench.page", description=__doc__)
    parser.add_argument("--store", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--rounds", type=int, default=10, help="calls of each operation")
    parser.add_argument("--keep", default="", help="folder that keeps the rows for another run (SQLite)")
    arguments = parser.parse_args()
    sizes = PageSizes()
    rows = []
    with open_large_server(arguments.store, sizes, arguments.keep) as (port, pids):
        measure_calls(port, pids, SHELL, 2)
        for view, calls in VIEWS.items():
            measured = measure_calls(port, pids, calls, arguments.rounds)
            for (operation, _), (cpu, wall, size) in zip(calls, measured, strict=True):
                rows.append((view, f"`{operation}`", f"{cpu:.0f}", f"{wall:.0f}", f"{size / 1024:.0f}"))
        shell = measure_shell(port)
    sized = ", ".join(f"{amount:,} {name}" for name, amount in msgspec.to_builtins(sizes).items())
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; {sized}")
    print(f"all files of the page, one after the other: {shell:.0f} ms")
    print_table(f"On {arguments.store}", ("view", "call", "CPU ms", "median ms", "KB"), rows)


if __name__ == "__main__":
    main()
