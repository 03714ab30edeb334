"""Figures of the store for /metrics: sizes, free disk, queues, connections, and the age of the last backup.

They are read in the background (`readiness.py`), so that /metrics never waits for the store.
"""

import asyncio
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from commonplace.call import Calls
from commonplace.config import Settings
from commonplace.data_folder import DATABASE
from commonplace.store.database import Tx
from commonplace.store.last_backup import read_last_backup


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


class StoreCollector(Collector):
    """What `measure_store` last found, and what the store knows without being asked."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self.figures = StoreFigures()

    def collect(self) -> Iterator[Metric]:
        figures = self.figures
        sizes = GaugeMetricFamily(
            "commonplace_store_bytes", "Size of the database and its log.", labels=("part",)
        )
        for part, size in figures.bytes_by_part.items():
            sizes.add_metric((part,), size)
        yield sizes
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
        load = GaugeMetricFamily(
            "commonplace_store_load", "Transactions that wait, and connections in use.", labels=("figure",)
        )
        for figure, value in self._calls.database.measure_load().items():
            load.add_metric((figure,), value)
        yield load
