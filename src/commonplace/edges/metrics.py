"""What Prometheus reads: calls by operation and outcome, their time, the background work, and figures of the store.

Figures of the store are read in the background (`readiness.py`), so that /metrics never waits for it.
"""

import asyncio
import shutil
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate

from prometheus_client import CollectorRegistry, Gauge, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from commonplace import background
from commonplace.call import Calls
from commonplace.config import Settings
from commonplace.data_folder import DATABASE
from commonplace.store.database import Tx
from commonplace.store.last_backup import read_last_backup

_BUCKET_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)
LabelledFamily = GaugeMetricFamily | CounterMetricFamily
_BUCKET_NAMES = (*map(floatToGoString, _BUCKET_SECONDS), "+Inf")


class Metrics:
    def __init__(self, server: "ServerCollector") -> None:
        self._registry = CollectorRegistry()
        self._calls = CallCollector()
        self.observe_call = self._calls.observe_call
        ProcessCollector(registry=self._registry)
        for collector in (server, self._calls):
            self._registry.register(collector)
        self._live = Gauge("commonplace_live", "Live sessions and locks.", ("kind",), registry=self._registry)
        self._ready = Gauge("commonplace_ready", "1 if /ready answers 200.", registry=self._registry)

    def set_state(self, live_counts: dict[str, int], *, is_ready: bool) -> None:
        self._ready.set(is_ready)
        for kind, count in live_counts.items():
            self._live.labels(kind).set(count)

    def render(self) -> bytes:
        return generate_latest(self._registry)


@dataclass(slots=True)
class CallTimes:
    """How long the calls of one operation took."""

    seconds: float = 0.0
    buckets: list[int] = field(default_factory=lambda: [0] * len(_BUCKET_NAMES))


class CallCollector(Collector):
    """Counts calls. All of them end on the event loop, so counting needs no lock, which would cost more than the rest."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], int] = {}
        self._times: dict[str, CallTimes] = {}

    def observe_call(self, operation: str, outcome: str, seconds: float) -> None:
        key = (operation, outcome)
        self._counts[key] = self._counts.get(key, 0) + 1
        times = self._times.get(operation)
        if times is None:
            times = self._times[operation] = CallTimes()
        times.seconds += seconds
        times.buckets[bisect_left(_BUCKET_SECONDS, seconds)] += 1

    def collect(self) -> Iterator[Metric]:
        calls = CounterMetricFamily(
            "commonplace_calls", "Calls by operation and outcome.", labels=("operation", "outcome")
        )
        for key, count in self._counts.items():
            calls.add_metric(key, count)
        duration = HistogramMetricFamily(
            "commonplace_call_seconds", "Duration of a call.", labels=("operation",)
        )
        for operation, times in self._times.items():
            totals = zip(_BUCKET_NAMES, accumulate(times.buckets), strict=True)
            duration.add_metric((operation,), list(totals), times.seconds)
        yield from (calls, duration)


@dataclass(frozen=True)
class StoreFigures:
    bytes_by_part: dict[str, int] = field(default_factory=dict)
    """`database`, and `log` on SQLite."""
    free_bytes: int | None = None
    embedding_queue: int = 0
    vector_index: float = 1.0
    """How much of it is built."""
    last_backup_at: float = 0.0
    """Seconds since 1970; 0 if there was none."""


async def measure_store(calls: Calls) -> StoreFigures:
    async def read_rows(tx: Tx) -> tuple[int, float, float, int]:
        queue = await calls.search.count_queued_entries(tx)
        vector_index = await calls.search.measure_vector_index(tx)
        last = await read_last_backup(tx, calls.settings.data)
        sized = (
            await tx.one("select pg_database_size(current_database()) as bytes")
            if tx.kind == "postgresql"
            else None
        )
        backup_at = last.finished_at.timestamp() if last else 0.0
        return queue, vector_index, backup_at, sized["bytes"] if sized else 0

    queue, vector_index, last_backup_at, database_bytes = await calls.database.read(read_rows)
    files, free = await asyncio.to_thread(_measure_files, calls.settings)
    return StoreFigures(files or {"database": database_bytes}, free, queue, vector_index, last_backup_at)


def _measure_files(settings: Settings) -> tuple[dict[str, int], int | None]:
    if settings.store != "sqlite" or not settings.data.is_dir():
        return {}, None
    parts = {"database": settings.data / DATABASE, "log": settings.data / f"{DATABASE}-wal"}
    sizes = {part: path.stat().st_size for part, path in parts.items() if path.exists()}
    return sizes, shutil.disk_usage(settings.data).free


class ServerCollector(Collector):
    """What the parts of the server know without being asked, and what `measure_store` last found."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self.figures = StoreFigures()

    def collect(self) -> Iterator[Metric]:
        yield from self._collect_background()
        yield from self._collect_retention()
        admission = self._calls.admission
        yield GaugeMetricFamily("commonplace_calls_running", "Calls in progress.", admission.running)
        yield GaugeMetricFamily(
            "commonplace_calls_waiting", "Calls that wait for an event.", admission.waiting
        )
        yield CounterMetricFamily("commonplace_calls_overload", "Calls refused at once.", admission.refused)
        yield GaugeMetricFamily(
            "commonplace_event_lag_seconds",
            "From an event to its listeners: of the last ones, or of those that wait.",
            self._calls.bus.lag_seconds,
        )
        yield from self._collect_store()

    def _collect_background(self) -> Iterator[Metric]:
        works = {work.name: work for work in background.list_work()}
        yield _label_figures(
            GaugeMetricFamily(
                "commonplace_background_last_success_timestamp_seconds",
                "When each work in the background last succeeded.",
                labels=("work",),
            ),
            {name: work.succeeded_at for name, work in works.items()},
        )
        yield _label_figures(
            CounterMetricFamily(
                "commonplace_background_failures",
                "Failures of each work in the background.",
                labels=("work",),
            ),
            {name: work.failures for name, work in works.items()},
        )

    def _collect_retention(self) -> Iterator[Metric]:
        progress = self._calls.retention
        yield _label_figures(
            CounterMetricFamily(
                "commonplace_retention_rows", "Old rows that were deleted or closed.", labels=("kind",)
            ),
            progress.rows,
        )
        yield CounterMetricFamily(
            "commonplace_retention_batches", "Transactions of retention.", progress.batches
        )
        yield GaugeMetricFamily(
            "commonplace_retention_longest_batch_seconds",
            "The longest of them.",
            progress.longest_batch_seconds,
        )

    def _collect_store(self) -> Iterator[Metric]:
        figures = self.figures
        yield _label_figures(
            GaugeMetricFamily(
                "commonplace_store_bytes", "Size of the database and its log.", labels=("part",)
            ),
            figures.bytes_by_part,
        )
        if figures.free_bytes is not None:
            yield GaugeMetricFamily(
                "commonplace_disk_free_bytes", "Free for the data folder.", figures.free_bytes
            )
        yield GaugeMetricFamily(
            "commonplace_embedding_queue_length", "Texts that wait for vectors.", figures.embedding_queue
        )
        yield GaugeMetricFamily(
            "commonplace_vector_index_built_ratio",
            "How much of the vector index is built; 1: all.",
            figures.vector_index,
        )
        yield GaugeMetricFamily(
            "commonplace_last_backup_timestamp_seconds",
            "When the last backup ended; 0: never.",
            figures.last_backup_at,
        )
        yield _label_figures(
            GaugeMetricFamily(
                "commonplace_store_load",
                "Transactions that wait, and connections in use.",
                labels=("figure",),
            ),
            self._calls.database.measure_load(),
        )


def _label_figures(family: LabelledFamily, figures: Mapping[str, float]) -> Metric:
    for label, figure in figures.items():
        family.add_metric((label,), figure)
    return family
