"""/health, /ready and /metrics for monitoring. The figures themselves are collected in metrics.py."""

from commonplace import __version__, errors
from commonplace.activity import SESSION_LIVE_MICROSECONDS
from commonplace.call import Calls
from commonplace.edges.http.request import Request
from commonplace.edges.http.response import Response
from commonplace.edges.http.router import Route
from commonplace.edges.metrics import Metrics
from commonplace.rooms.admin import store as admin

_PLAIN_TEXT = b"text/plain"
_PROMETHEUS_TEXT = b"text/plain; version=0.0.4; charset=utf-8"


class Probes:
    def __init__(self, calls: Calls, metrics: Metrics) -> None:
        self._calls, self._metrics = calls, metrics

    def public_routes(self) -> dict[str, Route]:
        """Routes that answer without a key: nothing in them is worth a secret."""
        return {"/health": self.send_health, "/ready": self.send_readiness}

    def routes(self) -> dict[str, dict[str, Route]]:
        return {"/metrics": {"GET": self.send_metrics}}

    async def _count_live(self) -> dict[str, int]:
        now = self._calls.clock()
        row = await self._calls.database.read(
            lambda tx: admin.count_live_sessions_and_locks(tx, now - SESSION_LIVE_MICROSECONDS, now)
        )
        return {f"active_{name}": row[name] for name in ("sessions", "locks")}

    async def send_health(self, _request: Request, response: Response) -> None:
        try:
            live = await self._count_live()
        except errors.Unavailable as refusal:
            await response.send_json(503, {"status": "unavailable", "message": refusal.message})
            return
        await response.send_json(200, {"status": "ok", "version": __version__} | live)

    async def send_readiness(self, _request: Request, response: Response) -> None:
        try:
            await self._count_live()
        except errors.Unavailable:
            await response.send(503, b"unavailable", content_type=_PLAIN_TEXT)
            return
        await response.send(200, b"ready", content_type=_PLAIN_TEXT)

    async def send_metrics(self, _request: Request, response: Response) -> None:
        self._metrics.set_live_counts(await self._count_live())
        await response.send(200, self._metrics.render(), content_type=_PROMETHEUS_TEXT)
