"""/live, /health, /ready and /metrics for monitoring. None of them waits for the store.

Whether the server is ready is found out in readiness.py; the figures are collected in metrics.py.
"""

from commonplace import __version__
from commonplace.edges.http.request import Request
from commonplace.edges.http.response import Response
from commonplace.edges.http.router import Route
from commonplace.edges.metrics import Metrics
from commonplace.edges.readiness import Readiness

_PLAIN_TEXT = b"text/plain; charset=utf-8"
_PROMETHEUS_TEXT = b"text/plain; version=0.0.4; charset=utf-8"
_RETRY_AFTER = (b"retry-after", b"2")


class Probes:
    def __init__(self, readiness: Readiness, metrics: Metrics) -> None:
        self._readiness, self._metrics = readiness, metrics

    def public_routes(self) -> dict[str, Route]:
        """Routes that answer without a key: nothing in them is worth a secret."""
        return {"/live": self.send_life, "/health": self.send_health, "/ready": self.send_readiness}

    def routes(self) -> dict[str, dict[str, Route]]:
        return {"/metrics": {"GET": self.send_metrics}}

    async def send_life(self, _request: Request, response: Response) -> None:
        """The process answers. Only without this would a restart help: it does not repair a database."""
        await response.send(200, b"live", content_type=_PLAIN_TEXT)

    async def send_health(self, _request: Request, response: Response) -> None:
        """The same verdict as that of /ready, with figures for people and programs."""
        problem = self._readiness.find_problem()
        state = {"status": "degraded", "message": problem} if problem else {"status": "ok"}
        body = state | {"version": __version__} | self._readiness.live_counts
        await response.send_json(503 if problem else 200, body)

    async def send_readiness(self, _request: Request, response: Response) -> None:
        problem = self._readiness.find_problem()
        if problem:
            await response.send(
                503, f"unavailable: {problem}".encode(), _RETRY_AFTER, content_type=_PLAIN_TEXT
            )
        else:
            await response.send(200, b"ready", content_type=_PLAIN_TEXT)

    async def send_metrics(self, _request: Request, response: Response) -> None:
        self._metrics.set_state(self._readiness.live_counts, is_ready=not self._readiness.find_problem())
        await response.send(200, self._metrics.render(), content_type=_PROMETHEUS_TEXT)
