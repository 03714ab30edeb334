"""python -m bench.databases: the CPU time of a query to SQLite through memory_db, as a ratio to a bare sqlite3 read.

Counted: the server's check of the statement, its threads, and the worker process; not the start of the worker.
"""

import asyncio
import os
import sqlite3
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.tables import print_table
from commonplace import sqlguard
from commonplace.rooms.databases.store import RegisteredDatabase
from commonplace.sqlguard.sqlite import SQLITE, WORKERS

_QUERIES = 300
_SQL = (
    "SELECT c.name, count(*) AS n FROM customers c JOIN orders o ON o.customer_id = c.id"
    " GROUP BY c.name ORDER BY n DESC LIMIT 10"
)


def write_database(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("create table customers (id integer primary key, name text)")
    connection.execute("create table orders (id integer primary key, customer_id integer, total real)")
    connection.executemany("insert into customers values (?, ?)", [(n, f"c{n}") for n in range(50)])
    connection.executemany("insert into orders values (?, ?, ?)", [(n, n % 50, n) for n in range(500)])
    connection.commit()
    connection.close()


def read_worker_seconds() -> float:
    """The CPU time of the idle workers so far."""
    ticks = 0
    for pid in WORKERS.list_pids():
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def measure_bare(path: Path) -> float:
    """Open, read, close: what a program without a guard does."""
    started = time.process_time()
    for _ in range(_QUERIES):
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        connection.execute(_SQL).fetchall()
        connection.close()
    return (time.process_time() - started) / _QUERIES


async def measure_guarded(path: Path, check: Callable[[], sqlguard.CheckedStatement]) -> tuple[float, float]:
    database = RegisteredDatabase("bench", "sqlite", str(path), "", 0, "", "")
    await SQLITE.run_query(database, check(), 100, ())
    before, started = read_worker_seconds(), time.process_time()
    for _ in range(_QUERIES):
        await SQLITE.run_query(database, check(), 100, ())
    server = (time.process_time() - started) / _QUERIES
    return server, (read_worker_seconds() - before) / _QUERIES


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.db"
        write_database(path)
        bare = measure_bare(path)
        server, worker = asyncio.run(measure_guarded(path, lambda: sqlguard.check_statement("sqlite", _SQL)))
        WORKERS.close()
    total = server + worker
    rows = [
        ["bare sqlite3: open, read, close", f"{1e3 * bare:.2f}", "1.0"],
        ["memory_db: check and server", f"{1e3 * server:.2f}", f"{server / bare:.1f}"],
        ["memory_db: worker", f"{1e3 * worker:.2f}", f"{worker / bare:.1f}"],
        ["memory_db: together", f"{1e3 * total:.2f}", f"{total / bare:.1f}"],
    ]
    print_table("One query to SQLite", ["", "CPU ms", "ratio"], rows)


if __name__ == "__main__":
    main()
