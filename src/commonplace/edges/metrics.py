"""What Prometheus reads: calls by operation and outcome, their time, what is live, how the background work gets on.

Served by probes.py.
"""

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from commonplace import background
from commonplace.admission import CallAdmission
from commonplace.events import EventBus
from commonplace.retention import RetentionProgress

_BUCKET_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)


class Metrics:
    def __init__(self, admission: CallAdmission, *collectors: Collector) -> None:
        self._registry = CollectorRegistry()
        for collector in collectors:
            self._registry.register(collector)
        ProcessCollector(registry=self._registry)
        self._registry.register(BackgroundCollector())
        self._registry.register(AdmissionCollector(admission))
        self._calls = Counter(
            "commonplace_calls_total", "Calls by operation and outcome.", ("operation", "outcome"),
            registry=self._registry,
        )  # fmt: skip
        self._seconds = Histogram(
            "commonplace_call_seconds",
            "Duration of a call.",
            ("operation",),
            buckets=_BUCKET_SECONDS,
            registry=self._registry,
        )
        # Looking a child up by its labels costs as much as counting.
        self._children: dict[tuple[str, str], tuple[Counter, Histogram]] = {}
        self._live = Gauge("commonplace_live", "Live sessions and locks.", ("kind",), registry=self._registry)
        self._ready = Gauge("commonplace_ready", "1 if /ready answers 200.", registry=self._registry)

    def observe_call(self, operation: str, outcome: str, seconds: float) -> None:
        children = self._children.get((operation, outcome))
        if children is None:
            children = self._calls.labels(operation, outcome), self._seconds.labels(operation)
            self._children[operation, outcome] = children
        children[0].inc()
        children[1].observe(seconds)

    def set_state(self, live_counts: dict[str, int], *, is_ready: bool) -> None:
        self._ready.set(is_ready)
        for kind, count in live_counts.items():
            self._live.labels(kind).set(count)

    def render(self) -> bytes:
        return generate_latest(self._registry)


class BackgroundCollector(Collector):
    def collect(self) -> Iterator[Metric]:
        succeeded = GaugeMetricFamily(
            "commonplace_background_last_success_timestamp_seconds",
            "When each work in the background last succeeded.",
            labels=("work",),
        )
        failures = CounterMetricFamily(
            "commonplace_background_failures", "Failures of each work in the background.", labels=("work",)
        )
        works = {work.name: work for work in background.list_work()}
        for name, work in works.items():
            succeeded.add_metric((name,), work.succeeded_at)
            failures.add_metric((name,), work.failures)
        yield from (succeeded, failures)


class EventCollector(Collector):
    def __init__(self, bus: EventBus) -> None:
        self._bus = bus

    def collect(self) -> Iterator[Metric]:
        yield GaugeMetricFamily(
            "commonplace_event_lag_seconds",
            "From an event to its listeners: of the last ones, or of those that wait.",
            self._bus.lag_seconds,
        )


class AdmissionCollector(Collector):
    def __init__(self, admission: CallAdmission) -> None:
        self._admission = admission

    def collect(self) -> Iterator[Metric]:
        admission = self._admission
        yield GaugeMetricFamily("commonplace_calls_running", "Calls in progress.", admission.running)
        yield GaugeMetricFamily(
            "commonplace_calls_waiting", "Calls that wait for an event.", admission.waiting
        )
        yield CounterMetricFamily("commonplace_calls_overload", "Calls refused at once.", admission.refused)


class RetentionCollector(Collector):
    def __init__(self, progress: RetentionProgress) -> None:
        self._progress = progress

    def collect(self) -> Iterator[Metric]:
        progress = self._progress
        rows = CounterMetricFamily(
            "commonplace_retention_rows", "Old rows that were deleted or closed.", labels=("kind",)
        )
        for kind, count in progress.rows.items():
            rows.add_metric((kind,), count)
        yield rows
        yield CounterMetricFamily(
            "commonplace_retention_batches", "Transactions of retention.", progress.batches
        )
        yield GaugeMetricFamily(
            "commonplace_retention_longest_batch_seconds",
            "The longest of them.",
            progress.longest_batch_seconds,
        )
