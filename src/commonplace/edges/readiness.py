"""/live, /health, /ready and /metrics for monitoring, and whether this server is ready: a write would succeed, its
background work gets on, its disk has room.

A check in the background keeps the last result, so that no answer waits for the store.
"""

import asyncio
import contextlib
import logging
import shutil
import time
from pathlib import Path

from commonplace import __version__, background, errors
from commonplace.call import Calls
from commonplace.clock import HOUR
from commonplace.edges.http.request import Request
from commonplace.edges.http.response import Response
from commonplace.edges.metrics import Metrics, ServerCollector, measure_store
from commonplace.identity.liveness import SESSION_LIVE_MICROSECONDS
from commonplace.rooms.admin import store as admin
from commonplace.store.database import Tx

_log = logging.getLogger(__name__)

_PLAIN_TEXT = b"text/plain; charset=utf-8"
_PROMETHEUS_TEXT = b"text/plain; version=0.0.4; charset=utf-8"
_RETRY_AFTER = (b"retry-after", b"2")
_CHECK_INTERVAL_SECONDS = 2.0
_CHECK_SECONDS = 3.0
_COUNT_SECONDS = 1.0
_COUNT_INTERVAL_SECONDS = 10.0
_MAX_AGE_SECONDS = 10.0
_SIGNAL_AGE = HOUR
_MIN_FREE_BYTES = 32 * 1024 * 1024
_SILENT = f"The database has not answered within {_CHECK_SECONDS:.0f} seconds."


class Readiness:
    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._problem = "The server is starting."
        self._checked_at = self._counted_at = self._started_at = 0.0
        self._checking: background.BackgroundWork | None = None
        self.collector = ServerCollector(calls)
        self.warning = ""
        """What is wrong although the server is ready."""
        self.live_counts = {"active_sessions": 0, "active_locks": 0, "active_signals": 0}
        """Sessions and locks that were live a few seconds ago, and signals of the last hour."""

    async def open(self) -> None:
        await self._check()
        self._checking = background.every(
            _CHECK_INTERVAL_SECONDS, self._check, name="readiness", essential=True
        )

    async def close(self) -> None:
        await background.stop(self._checking)

    def find_problem(self) -> str:
        """Why the server is not ready; empty if it is."""
        now = time.monotonic()
        age = now - self._checked_at
        if self._problem:
            return self._problem
        if self._started_at and now - self._started_at > _CHECK_SECONDS:
            return _SILENT
        if age > _MAX_AGE_SECONDS:
            return f"The last check was {age:.0f} seconds ago."
        stuck = background.find_stuck_work()
        return f"Background work does not get on: {stuck.name} ({stuck.last_error})." if stuck else ""

    async def _check(self) -> None:
        self._started_at = time.monotonic()
        problem = await self._find_problem_now()
        if problem != self._problem:
            _log.warning("not ready", extra={"reason": problem}) if problem else _log.info("ready")
        self._problem, self._checked_at, self._started_at = problem, time.monotonic(), 0.0
        if not problem:
            await self._find_silent_nodes()
            await self._count_live_in_time()

    async def _find_problem_now(self) -> str:
        try:
            async with asyncio.timeout(_CHECK_SECONDS):
                if problem := await asyncio.to_thread(self._find_full_disk):
                    return problem
                await self._calls.database.check_writable()
        except TimeoutError:
            return _SILENT
        except errors.Refusal as refusal:
            return refusal.message
        return ""

    async def _find_silent_nodes(self) -> None:
        """The projects of the other nodes are served, so that this is no reason to take the server out of service."""
        with contextlib.suppress(TimeoutError, errors.Unavailable):
            async with asyncio.timeout(_CHECK_SECONDS):
                nodes = await self._calls.database.list_silent_nodes()
                self.warning = (
                    f"These nodes of the database do not answer: {', '.join(nodes)}. Their projects get 503."
                    if nodes
                    else ""
                )

    def _find_full_disk(self) -> str:
        settings = self._calls.settings
        folders = [settings.data] if self._calls.database.kind == "sqlite" else []
        if settings.archives != "store" and "://" not in settings.archives:
            folders.append(Path(settings.archives))
        for folder in folders:
            if folder.exists() and (free := shutil.disk_usage(folder).free) < _MIN_FREE_BYTES:
                return f"The disk is full: {free} bytes are free for {folder}."
        return ""

    async def _count_live_in_time(self) -> None:
        """A store that is too busy to count keeps the figures of before."""
        with contextlib.suppress(TimeoutError, errors.Unavailable):
            async with asyncio.timeout(_COUNT_SECONDS):
                await self._count_live()

    async def _count_live(self) -> None:
        if time.monotonic() - self._counted_at < _COUNT_INTERVAL_SECONDS:
            return
        now = self._calls.clock()

        async def count_live(tx: Tx) -> dict[str, int]:
            live_since = now - SESSION_LIVE_MICROSECONDS
            row = await admin.count_live_sessions_and_locks(tx, live_since, await tx.clock())
            signals = await admin.count_signals(tx, now - _SIGNAL_AGE)
            return {
                "active_sessions": row["sessions"],
                "active_locks": row["locks"],
                "active_signals": signals,
            }

        self.live_counts = await self._calls.database.read(count_live)
        self.collector.figures = await measure_store(self._calls)
        self._counted_at = time.monotonic()


class Probes:
    def __init__(self, readiness: Readiness, metrics: Metrics) -> None:
        self._readiness, self._metrics = readiness, metrics

    async def send_life(self, _request: Request, response: Response) -> None:
        """The process answers. Only without this would a restart help: it does not repair a database."""
        await response.send(200, b"live", content_type=_PLAIN_TEXT)

    async def send_health(self, _request: Request, response: Response) -> None:
        """The same verdict as that of /ready, with figures for people and programs."""
        problem = self._readiness.find_problem()
        message = problem or self._readiness.warning
        state = {"status": "degraded", "message": message} if message else {"status": "ok"}
        body = state | {"version": __version__} | self._readiness.live_counts
        await response.send_json(503 if problem else 200, body)

    async def send_readiness(self, _request: Request, response: Response) -> None:
        problem = self._readiness.find_problem()
        if problem:
            await response.send(
                503, f"unavailable: {problem}".encode(), _RETRY_AFTER, content_type=_PLAIN_TEXT
            )
        else:
            warning = self._readiness.warning
            text = f"ready, but: {warning}" if warning else "ready"
            await response.send(200, text.encode(), content_type=_PLAIN_TEXT)

    async def send_metrics(self, _request: Request, response: Response) -> None:
        self._metrics.set_state(self._readiness.live_counts, is_ready=not self._readiness.find_problem())
        await response.send(200, self._metrics.render(), content_type=_PROMETHEUS_TEXT)
