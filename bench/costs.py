"""python -m bench.costs: what a call costs on each store: rows, bytes on disk, bytes of the write-ahead log, CPU.

Calls run in this process, without HTTP (`make bench` has its cost). CPU is that of this process and, for PostgreSQL, of
the database server; it does not depend much on what else the machine does. The tables of docs/scale.md are from here.
"""

import argparse
import asyncio
import gc
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil

from bench.retrieval import call_operation, close_product, open_product
from bench.tables import print_table
from bench.writer import cut_documents
from commonplace import errors
from commonplace.call import Calls
from commonplace.config import Settings
from commonplace.store.schema import project_tables
from commonplace.store.sqlite import Sqlite

_WARM_CALLS = 10
_KILOBYTE = 1_000


@dataclass(frozen=True)
class Usage:
    rows: int
    disk_bytes: int
    log_bytes: int
    cpu_seconds: float

    def per_call(self, before: "Usage", calls: int) -> tuple[str, str, str, str]:
        rows = (self.rows - before.rows) / calls
        disk = (self.disk_bytes - before.disk_bytes) / calls
        log = (self.log_bytes - before.log_bytes) / calls
        cpu = 1e3 * (self.cpu_seconds - before.cpu_seconds) / calls
        return f"{rows:.1f}", f"{disk / _KILOBYTE:.1f}", f"{log / _KILOBYTE:.1f}", f"{cpu:.2f}"


async def measure_usage(calls: Calls) -> Usage:
    async def count(tx: Any) -> int:
        tables = [*await project_tables(tx), "term"]
        counts = [await tx.one(f'select count(*) as n from "{name}"') for name in dict.fromkeys(tables)]
        return sum(row["n"] for row in counts)

    rows = await calls.database.read(count)
    if isinstance(calls.database, Sqlite):
        database = calls.database.folder.database
        log_bytes = Path(f"{database}-wal").stat().st_size  # noqa: ASYNC240 - nobody else waits here
        pages = await calls.database.read(
            lambda tx: tx.one("select page_count * page_size as n from pragma_page_count, pragma_page_size")
        )
        return Usage(rows, pages["n"], log_bytes, sum(os.times()[:2]))
    figures = await calls.database.read(
        lambda tx: tx.one(
            "select pg_database_size(current_database()) as disk,"
            " cast(pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') as bigint) as log"
        )
    )
    return Usage(rows, figures["disk"], figures["log"], sum(os.times()[:2]) + _read_postgres_cpu())


def _read_postgres_cpu() -> float:
    """Of the database server of this run: it is a child of this process, or of the one that started it."""
    return sum(
        sum(process.cpu_times()[:2])
        for process in psutil.process_iter(["name", "cwd"])
        if process.info["name"] == "postgres" and "commonplace-bench-" in (process.info["cwd"] or "")
    )


async def keep_log(calls: Calls) -> None:
    """Let SQLite's log grow, so that its size tells what was written."""
    if isinstance(calls.database, Sqlite):
        await calls.database.write(lambda tx: tx.all("pragma wal_autocheckpoint = 0"))


def list_calls(session: str, texts: list[tuple[str, str]]) -> dict[str, Callable[[int], dict[str, Any]]]:
    """The arguments of the n-th call of each operation."""
    own = {"session_id": session}
    return {
        "memory_heartbeat": lambda n: own | {"current_task": f"task {n}"},
        "memory_get_locks": lambda _n: own,
        "memory_query": lambda n: own | {"query": texts[n % len(texts)][1][:80]},
        "memory_lock_files": lambda n: own | {"files": [f"src/module{n}.py"]},
        "memory_unlock_files": lambda n: own | {"files": [f"src/module{n}.py"]},
        "memory_send_message": lambda n: (
            own | {"to_instance": "ben", "message": f"Message {n}: the cart is done."}
        ),
        "memory_record_learning": lambda n: (
            own | {"topic": f"{texts[n % len(texts)][0]} {n}", "content": f"{n} {texts[n % len(texts)][1]}"}
        ),
        "memory_start_session": lambda n: {"project": "bench", "claude_instance": f"agent{n}"},
    }


async def measure_store(store: str, rounds: int) -> list[tuple[str, ...]]:
    lines = []
    async with open_product(store, replace(Settings(), embeddings="off")) as calls:
        started = await call_operation(calls, "memory_start_session", project="bench", claude_instance="ann")
        await call_operation(calls, "memory_start_session", project="bench", claude_instance="ben")
        await keep_log(calls)
        for operation, arguments in list_calls(started["session_id"], cut_documents()).items():
            for n in range(_WARM_CALLS):
                await _call(calls, operation, arguments(n + rounds))
            gc.collect()
            before = await measure_usage(calls)
            for n in range(rounds):
                await _call(calls, operation, arguments(n))
            lines.append((operation, store, *(await measure_usage(calls)).per_call(before, rounds)))
        await close_product(calls)
    return lines


async def _call(calls: Calls, operation: str, arguments: dict[str, Any]) -> None:
    try:
        await call_operation(calls, operation, **arguments)
    except errors.Duplicate:
        return


async def print_costs(rounds: int) -> None:
    lines = [line for store in ("sqlite", "postgresql") for line in await measure_store(store, rounds)]
    print_table(
        f"What one call costs, {rounds} calls each; a learning has 2.4 KB of text",
        ("operation", "store", "rows", "KB on disk", "KB of log", "CPU ms"),
        lines,
    )


def main() -> None:
    parser = argparse.ArgumentParser("bench.costs", description=__doc__)
    parser.add_argument("--rounds", type=int, default=200, help="calls of each operation")
    asyncio.run(print_costs(parser.parse_args().rounds))


if __name__ == "__main__":
    main()
