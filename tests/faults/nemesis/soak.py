"""Thirty agents for an hour: `python -m nemesis.soak --seconds 3600`. Does anything grow that should not?

Memory, descriptors, threads, the write-ahead log and the p99 of calls are sampled. Each is judged by the line through
its samples after the warm-up: how much it grew, beside what it is. At the end the checker of the
nemesis looks at everything that was written.
"""

import argparse
import asyncio
import statistics
import sys
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from nemesis import checker, stored
from nemesis.campaign import report
from nemesis.history import History, read_time
from nemesis.run import last_numbers_of_file, temporary_folder, wait_for_followers
from nemesis.servers import ServerProcess, running_launcher
from nemesis.workload import Workload, WorkloadSettings

WARM_UP_SHARE = 0.33
MEGABYTE = 1024 * 1024
_LINES_OF_PROGRESS = 60


@dataclass
class Series:
    """One figure over time."""

    name: str
    unit: str
    may_grow_share: float
    """In an hour, of its mean; `may_grow` is added once: a step, such as one thread more, is no slope."""
    may_grow: float
    times: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def add(self, at: float, value: float) -> None:
        self.times.append(at)
        self.values.append(value)

    @property
    def _settled(self) -> tuple[list[float], list[float]]:
        first = int(len(self.values) * WARM_UP_SHARE)
        return self.times[first:], self.values[first:]

    @property
    def growth_of_hour(self) -> float:
        """By the line through the samples after the warm-up."""
        return statistics.linear_regression(*self._settled).slope * 3600

    @property
    def is_flat(self) -> bool:
        """Whether it grew by little in the time that was seen, or by less than the samples scatter by themselves."""
        times, values = self._settled
        hours = (times[-1] - times[0]) / 3600
        allowed = self.may_grow_share * statistics.fmean(values) * hours + self.may_grow
        return self.growth_of_hour * hours <= max(allowed, 2 * statistics.pstdev(values))

    def describe(self) -> str:
        _, values = self._settled
        return (
            f"{self.name:12} {statistics.fmean(values):9.1f} {self.unit:3} mean, {min(values):9.1f} to {max(values):9.1f},"
            f" {self.growth_of_hour:+9.2f} {self.unit} an hour: {'flat' if self.is_flat else 'GROWS'}"
        )


def measure_own_memory(process: psutil.Process) -> int:
    """Without mapped files: SQLite maps its database, which grows with what is stored and is not held."""
    memory = process.memory_info()
    return int(memory.rss - getattr(memory, "shared", 0))


class Soak:
    def __init__(self, server: ServerProcess, database: Path, workload: Workload) -> None:
        self._process = psutil.Process(server.pid)
        self._log = Path(f"{database}-wal")
        self._history: History = workload.history
        self._seen = 0
        self._began = read_time()
        self.memory = Series("memory", "MB", 0.10, 8)
        self.descriptors = Series("descriptors", "", 0.0, 5)
        self.threads = Series("threads", "", 0.0, 2)
        self.log = Series("log", "MB", 0.0, 64)
        self.p99 = Series("p99", "ms", 0.5, 20)

    @property
    def series(self) -> list[Series]:
        return [self.memory, self.descriptors, self.threads, self.log, self.p99]

    def sample(self) -> None:
        at = read_time() - self._began
        with self._process.oneshot():
            self.memory.add(at, measure_own_memory(self._process) / MEGABYTE)
            self.descriptors.add(at, self._process.num_fds())
            self.threads.add(at, self._process.num_threads())
        self.log.add(at, self._log.stat().st_size / MEGABYTE if self._log.exists() else 0.0)
        latencies = [
            1000 * (each.ended - each.invoked)
            for each in self._history.operations[self._seen :]
            if each.ended
        ]
        self._seen = len(self._history.operations)
        if len(latencies) > 10:
            self.p99.add(at, statistics.quantiles(latencies, n=100)[98])

    def describe_last(self) -> str:
        figures = ", ".join(
            f"{each.name} {each.values[-1]:.1f} {each.unit}" for each in self.series if each.values
        )
        return f"{read_time() - self._began:6.0f} s, {self._seen} operations: {figures}"


async def run_soak(seconds: float, agents: int, embeddings: str) -> int:
    with running_launcher() as launcher, temporary_folder() as folder:
        data = folder / "data"
        flags = ["--data", str(data), "--embeddings", embeddings]
        server = ServerProcess(launcher, folder / "server", flags, lease_seconds=60)
        settings = WorkloadSettings(
            ["soak0"], agents=agents, followers=3, lease_seconds=60, paths=3 * agents, nap_share=0,
            pause_seconds=1.0, timeout_seconds=30,
        )  # fmt: skip
        database = data / "commonplace.db"
        try:
            server.start()
            await server.wait_until_ready()
            workload = Workload([server.port], settings, seed=1)
            soak = await _work_and_sample(server, database, workload, seconds)
            await server.stop()
            state = stored.read_sqlite(database, "soak0")
        finally:
            server.close()
    violations = checker.find_violations(workload.history, state, settings.lease_seconds, clock_error=0)
    report("\n".join(each.describe() for each in soak.series))
    report(checker.summarize(violations) or f"{len(workload.history.operations)} operations, nothing wrong.")
    return 0 if not violations and all(each.is_flat for each in soak.series) else 1


async def _work_and_sample(server: ServerProcess, database: Path, workload: Workload, seconds: float) -> Soak:
    await workload.start()
    soak = Soak(server, database, workload)
    ends, pause = read_time() + seconds, max(1.0, seconds / 300)
    samples_of_line = max(1, int(seconds / pause / _LINES_OF_PROGRESS))
    try:
        while read_time() < ends:
            await asyncio.sleep(pause)
            workload.require_agents_alive()
            soak.sample()
            if len(soak.memory.values) % samples_of_line == 0:
                report(soak.describe_last())
        await workload.stop_agents()
        await wait_for_followers(workload, await last_numbers_of_file(database))
    finally:
        await workload.stop_followers()
    return soak


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--agents", type=int, default=30)
    parser.add_argument("--embeddings", default="on")
    arguments = parser.parse_args()
    return asyncio.run(run_soak(arguments.seconds, arguments.agents, arguments.embeddings))


if __name__ == "__main__":
    sys.exit(main())
