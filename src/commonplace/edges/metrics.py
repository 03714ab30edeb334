"""What Prometheus reads: calls by operation and outcome, their time, and what is live. Served by probes.py."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

_BUCKET_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)


class Metrics:
    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
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
        self._live = Gauge("commonplace_live", "Live sessions and locks.", ("kind",), registry=self._registry)

    def observe_call(self, operation: str, outcome: str, seconds: float) -> None:
        self._calls.labels(operation, outcome).inc()
        self._seconds.labels(operation).observe(seconds)

    def set_live_counts(self, counts: dict[str, int]) -> None:
        for kind, count in counts.items():
            self._live.labels(kind).set(count)

    def render(self) -> bytes:
        return generate_latest(self._registry)
