"""What Prometheus reads: calls by operation and outcome, their time, what is live, how the background work gets on.

Served by probes.py.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate

from prometheus_client import CollectorRegistry, Gauge, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from commonplace import background
from commonplace.admission import CallAdmission
from commonplace.events import EventBus
from commonplace.retention import RetentionProgress

_BUCKET_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)
_BUCKET_NAMES = (*map(floatToGoString, _BUCKET_SECONDS), "+Inf")


class Metrics:
    def __init__(self, admission: CallAdmission, *collectors: Collector) -> None:
        self._registry = CollectorRegistry()
        for collector in collectors:
            self._registry.register(collector)
        ProcessCollector(registry=self._registry)
        self._registry.register(BackgroundCollector())
        self._registry.register(AdmissionCollector(admission))
        self._calls = CallCollector()
        self._registry.register(self._calls)
        self.observe_call = self._calls.observe_call
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
