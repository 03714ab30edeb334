"""/health, /ready and /metrics."""

from commonplace import __version__, errors
from commonplace.activity import SESSION_LIVE_MICROSECONDS
from commonplace.call import Calls
from commonplace.edges.http import Request, Route, Send, respond, respond_json
from commonplace.edges.metrics import Metrics
from commonplace.rooms.admin import store as admin

_TEXT = b"text/plain; version=0.0.4; charset=utf-8"


class Probes:
    def __init__(self, calls: Calls, metrics: Metrics) -> None:
        self._calls, self._metrics = calls, metrics

    def public(self) -> dict[str, Route]:
        """What answers without a key: nothing in it is worth a secret."""
        return {"/health": self.health, "/ready": self.ready}

    def routes(self) -> dict[str, dict[str, Route]]:
        return {"/metrics": {"GET": self.metrics}}

    async def _live(self) -> dict[str, int]:
        now = self._calls.clock()
        row = await self._calls.database.read(
            lambda tx: admin.count_live_sessions_and_locks(tx, now - SESSION_LIVE_MICROSECONDS, now)
        )
        return {f"active_{name}": row[name] for name in ("sessions", "locks")}

    async def health(self, _request: Request, send: Send) -> None:
        try:
            live = await self._live()
        except errors.Unavailable as away:
            await respond_json(send, 503, {"status": "unavailable", "message": away.message})
            return
        await respond_json(send, 200, {"status": "ok", "version": __version__} | live)

    async def ready(self, _request: Request, send: Send) -> None:
        try:
            await self._live()
        except errors.Unavailable:
            await respond(send, 503, b"unavailable", b"text/plain")
            return
        await respond(send, 200, b"ready", b"text/plain")

    async def metrics(self, _request: Request, send: Send) -> None:
        self._metrics.live(await self._live())
        await respond(send, 200, self._metrics.text(), _TEXT)
