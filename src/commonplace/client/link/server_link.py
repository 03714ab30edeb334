"""A server as this process knows it: open connections, how long it takes to answer, and whether it is away.

The companion keeps one of these for each server, so that a connection with TLS is opened once, and a server that does
not answer costs one event its time once a minute and not every event. How long an event waits is decided here too.
"""

import contextlib
import json
import os
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

from commonplace.client.link import remote
from commonplace.client.link.http_connection import (
    AnswerTimeout,
    ConnectionPool,
    HttpAnswer,
    KeptConnection,
    build_request,
    send_repeatable,
)
from commonplace.client.link.remote import RemoteServer
from commonplace.window import IDEMPOTENCY_HEADER

RETRY_SECONDS = 60.0
_LATE_SECONDS = 10.0
_REFRESH_SECONDS = 25.0
"""Shorter than servers, proxies and routers keep an idle connection."""
_LOCAL_SECONDS = 0.3
_MAX_SECONDS = 1.0
_MAX_START_SECONDS = 3.0
"""At the start of a session people wait anyway, and the boot pack is worth it."""
_ROUND_TRIPS = 6
"""Connection, TLS and the call are three or four; the rest is for variation."""
_MAX_SAMPLES = 20
_MAX_SAMPLE_SECONDS = 3.0
_QUANTILE = 0.8
_TRUST_VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


class ServerLink:
    def __init__(self, url: str) -> None:
        self.url = url
        self.pool = ConnectionPool()
        self._samples: deque[float] = deque(maxlen=_MAX_SAMPLES)
        self._failed_at: float | None = None
        self._lock = threading.Lock()

    @property
    def is_remote(self) -> bool:
        """Whether the server is elsewhere. A server does not speak TLS itself, so https on loopback is a tunnel."""
        return self.url.startswith("https:") or not remote.is_local_url(self.url)

    def call_operation(
        self,
        server: RemoteServer,
        operation: str,
        arguments: dict[str, Any],
        headers: Sequence[str],
        seconds: float,
    ) -> dict[str, Any]:
        """Call one operation within `seconds`, unless the server is known to be away; raises ServerUnreachable or
        ServerRefusal."""
        if not self.claim_attempt():
            raise remote.ServerUnreachable(
                f"No server answers at {self.url} (tried less than {RETRY_SECONDS:.0f} seconds ago)."
            )
        started = time.monotonic()
        body = json.dumps(arguments).encode()
        try:
            answer = self.send(server, f"/api/{operation}", headers, body, seconds)
        except (OSError, ValueError) as error:
            self._record_failure(error, started)
            raise remote.unreachable(server, error) from None
        self.record_answer(time.monotonic() - started)
        return remote.decode_reply(server, answer)

    def send(
        self, server: RemoteServer, path: str, headers: Sequence[str], body: bytes, seconds: float
    ) -> HttpAnswer:
        lines = ["Content-Type: application/json", *server.authorization(), *headers]
        if not any(line.startswith(IDEMPOTENCY_HEADER) for line in headers):
            lines.append(f"{IDEMPOTENCY_HEADER}: {os.urandom(16).hex()}")
        request = build_request(self.url, "POST", path, lines, body)
        return send_repeatable(self.pool, self.url, request, max(seconds, 0.001))

    def claim_attempt(self) -> bool:
        """Whether to call the server: always while it answers, else one caller in RETRY_SECONDS."""
        with self._lock:
            if self._failed_at is None:
                return True
            if time.monotonic() - self._failed_at < RETRY_SECONDS:
                return False
            self._failed_at = time.monotonic()
            return True

    def mark_away(self) -> None:
        with self._lock:
            self._failed_at = time.monotonic()

    def _record_failure(self, error: Exception, started: float) -> None:
        """A local server that refuses or cuts a connection costs no time, so hooks notice at once when it is back."""
        is_late = isinstance(error, TimeoutError) or isinstance(error.__cause__, TimeoutError)
        if is_late:
            self._samples.append(min(time.monotonic() - started, _MAX_SAMPLE_SECONDS))
        if is_late or self.is_remote:
            self.mark_away()
        if isinstance(error, AnswerTimeout) and error.connection is not None:
            watch = (error.connection, started)
            threading.Thread(target=self._await_late_answer, args=watch, daemon=True).start()

    def _await_late_answer(self, connection: KeptConnection, started: float) -> None:
        """A server that was slow and not away is called again before the minute is over, with more patience."""
        with contextlib.closing(connection), contextlib.suppress(OSError):
            connection.socket.settimeout(_LATE_SECONDS)
            if connection.socket.recv(1):
                self.record_answer(time.monotonic() - started)

    def record_answer(self, seconds: float) -> None:
        self._samples.append(min(seconds, _MAX_SAMPLE_SECONDS))
        with self._lock:
            self._failed_at = None

    def wait_seconds(self, *, is_start: bool) -> float:
        """How long an event waits for the first answer: by distance and by what four of five answers took at most."""
        samples = sorted(self._samples)
        answer_seconds = samples[int(_QUANTILE * (len(samples) - 1))] if samples else None
        if not self.is_remote:
            # A tunnel looks local until its answers take longer.
            return min(_MAX_SECONDS, _LOCAL_SECONDS + _ROUND_TRIPS * (answer_seconds or 0.0))
        longest = _MAX_START_SECONDS if is_start else _MAX_SECONDS
        if answer_seconds is None:
            return longest
        return min(longest, _LOCAL_SECONDS + _ROUND_TRIPS * answer_seconds)

    def refresh(self) -> None:
        """Use a connection that was idle for a while, so that nobody on the way closes it."""
        connection = self.pool.take_idle(self.url)
        if connection is None:
            return
        if time.monotonic() - connection.used_at < _REFRESH_SECONDS:
            self.pool.give_back(connection, is_used=False)
            return
        connection.limit_seconds(_MAX_START_SECONDS)
        with contextlib.suppress(OSError):
            if connection.exchange(build_request(self.url, "GET", "/health", (), b""))[1]:
                self.pool.give_back(connection)
                return
        connection.close()


_links: dict[tuple[str, ...], ServerLink] = {}


def find_link(url: str) -> ServerLink:
    """The link to this server; programs that trust other certificates have another one."""
    trust = (remote.find_ca_file(), *(os.environ.get(name, "") for name in _TRUST_VARIABLES))
    key = (url, *trust) if url.startswith("https:") else (url,)
    return _links.setdefault(key, ServerLink(url))


def refresh_links() -> None:
    for link in list(_links.values()):
        link.refresh()
