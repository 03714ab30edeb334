"""python -m bench.librarian: scan the standard library of the running Python, register it, and scan again."""

import argparse
import asyncio
import os
import resource
import sysconfig
import tempfile
import threading
import time
from pathlib import Path
from typing import Self

import msgspec
import psutil

from commonplace import access
from commonplace.config import Settings
from commonplace.librarian.registry import FunctionRegistry
from commonplace.librarian.scan import TreeScan
from commonplace.librarian.source_tree import SourceTree
from commonplace.server import open_calls


class PeakMemory:
    """The largest sum of resident memory of this process and its children."""

    def __init__(self) -> None:
        self.peak = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._record_peak, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _record_peak(self) -> None:
        own = psutil.Process()
        while not self._stop.wait(0.1):
            total = 0
            for process in (own, *own.children(recursive=True)):
                try:
                    total += process.memory_info().rss
                except psutil.NoSuchProcess:
                    continue
            self.peak = max(self.peak, total)


def main() -> None:
    parser = argparse.ArgumentParser("bench.librarian", description=__doc__)
    parser.add_argument("path", nargs="?", default=sysconfig.get_path("stdlib"))
    parser.add_argument("--lines", type=int, default=100_000, help="read no more than this; 0 = all")
    arguments = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder, PeakMemory() as memory:
        asyncio.run(measure_scan(copy_excerpt(Path(arguments.path), Path(folder), arguments.lines)))
    print(f"peak memory of all processes: {memory.peak / 2**20:.0f} MB")
    print(f"CPU: {_read_cpu_seconds():.1f} s")


def copy_excerpt(path: Path, folder: Path, lines: int) -> Path:
    """Every n-th file of the tree, so many that they have about this many lines."""
    if not lines:
        return path
    tree = SourceTree(path)
    files = {file: tree.resolve_file(file).read_bytes() for file in tree.list_files()}
    step = max(1, sum(source.count(b"\n") for source in files.values()) // lines)
    for file, source in list(files.items())[::step]:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(source)
    return folder


def _read_cpu_seconds() -> float:
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in usage)


async def measure_scan(path: Path) -> None:
    scan = TreeScan(SourceTree(path))
    started = time.perf_counter()
    await asyncio.to_thread(scan.refresh_files)
    read = time.perf_counter() - started
    print(
        f"read:     {scan.lines} lines of {len(scan.files)} files in {read:.1f} s, {scan.lines / read:.0f} lines/s"
    )
    with tempfile.TemporaryDirectory() as folder:
        async with open_calls(Settings(data=Path(folder), embeddings="off")) as calls:
            loop = asyncio.get_running_loop()

            def call(name, given):
                running = asyncio.run_coroutine_threadsafe(calls.run(name, given, access.OPERATOR), loop)
                return msgspec.json.decode(running.result().to_text())

            registry = FunctionRegistry(call, "bench")
            for what in ("register", "again"):
                started = time.perf_counter()
                difference = await asyncio.to_thread(registry.compute_difference, scan)
                outcome = await asyncio.to_thread(registry.apply_difference, difference)
                took = time.perf_counter() - started
                print(f"{what + ':':9} {outcome} in {took:.1f} s; {difference.unchanged} unchanged")
                read += took if what == "register" else 0
    print(f"together: {scan.lines / read:.0f} lines/s; 100,000 lines in {100_000 * read / scan.lines:.1f} s")


if __name__ == "__main__":
    main()
