"""The calls of one hook to its server, over one connection where that saves round trips.

A server that does not answer is not called again for a minute (`server_record.py`). Beside a local server each call has
a connection of its own, which needs no further import. To a remote one, calls go through the connection keeper
(`client/keeper/`); without a keeper the calls of a hook share one connection, and a keeper is started for the next hook.
"""

import json
import os
import time
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from commonplace.client.companion import deadlines, late_answer
from commonplace.client.companion.server_record import RETRY_SECONDS, ServerRecord
from commonplace.client.link import light_http, remote
from commonplace.client.link.remote import RemoteServer
from commonplace.window import IDEMPOTENCY_HEADER

if TYPE_CHECKING:
    from commonplace.client.link.kept_http import KeptConnection


class HookConnection:
    def __init__(self, server: RemoteServer, keeper_minutes: int = 0) -> None:
        self.server, self.record = server, ServerRecord(server.url)
        self._keeper_minutes, self._needs_keeper = keeper_minutes, False
        self._kept: KeptConnection | None = None
        self.has_tried = self._has_answered = False

    def call_operation(
        self, operation: str, arguments: dict[str, Any], headers: Sequence[str], seconds: float
    ) -> dict[str, Any]:
        """Call one operation within `seconds`; raises ServerUnreachable or ServerRefusal."""
        if not self._has_answered and not self.record.claim_attempt():
            raise remote.ServerUnreachable(
                f"No server answers at {self.server.url} (tried less than {RETRY_SECONDS:.0f} seconds ago)."
            )
        if seconds <= 0:
            raise remote.unreachable(self.server, TimeoutError("its answers took too long"))
        self.has_tried = True
        lines = ["Content-Type: application/json", *self.server.authorization(), *headers]
        started = time.monotonic()
        try:
            status, body = self._send_request(
                f"/api/{operation}", lines, json.dumps(arguments).encode(), seconds
            )
        except (OSError, ValueError) as error:
            self._record_failure(error, time.monotonic() - started)
            raise remote.unreachable(self.server, error) from None
        self._has_answered = True
        self.record.record_answer(time.monotonic() - started)
        try:
            return remote.decode_reply(status, body)
        except ValueError as error:
            raise remote.unreachable(self.server, error) from None

    @cached_property
    def _ca_file(self) -> str:
        return remote.find_ca_file() if self.server.url.startswith("https:") else ""

    def _record_failure(self, error: Exception, waited_seconds: float) -> None:
        """A local server that refuses or cuts a connection costs no time, so hooks notice at once when it is back."""
        if isinstance(error, TimeoutError):
            self.record.record_sample(waited_seconds)
        if isinstance(error, TimeoutError) or deadlines.is_remote(self.server.url):
            self.record.record_failure()

    def _send_request(
        self, path: str, headers: Sequence[str], body: bytes, seconds: float
    ) -> tuple[int, bytes]:
        if not deadlines.is_remote(self.server.url):
            return self._send_alone(path, headers, body, seconds)
        # The keeper sends a request again if its connection was cut.
        if not any(line.startswith(IDEMPOTENCY_HEADER) for line in headers):
            headers = [*headers, f"{IDEMPOTENCY_HEADER}: {os.urandom(16).hex()}"]
        if self._keeper_minutes and not self._needs_keeper:
            from commonplace.client.companion import keeper_client  # not beside a local server

            request = light_http.build_request(self.server.url, "POST", path, headers, body)
            try:
                return keeper_client.send_request(self.server.url, self._ca_file, request, seconds)
            except keeper_client.KeeperMissing:
                self._needs_keeper = True
        return self._send_kept(path, headers, body, seconds)

    def close(self) -> None:
        """Start a keeper for the next hook if this one found none."""
        if self._kept is not None:
            self._kept.close()
        if self._needs_keeper and self._has_answered:
            from commonplace.client.companion import keeper_client

            keeper_client.start_keeper(self.server.url, self._ca_file, 60.0 * self._keeper_minutes)

    def _send_alone(
        self, path: str, headers: Sequence[str], body: bytes, seconds: float
    ) -> tuple[int, bytes]:
        started = time.monotonic()
        with light_http.open_socket(self.server.url, started + seconds) as connection:
            connection.sendall(
                light_http.build_request(self.server.url, "POST", path, headers, body, "HTTP/1.0")
            )
            try:
                answer = light_http.read_answer(connection, started + seconds)
            except TimeoutError:
                late_answer.watch_connection(connection, self.record, started)
                raise
        return answer.status, answer.body

    def _send_kept(self, path: str, headers: Sequence[str], body: bytes, seconds: float) -> tuple[int, bytes]:
        from commonplace.client.link import kept_http  # hooks beside a local server do not need it

        started = time.monotonic()
        request = light_http.build_request(self.server.url, "POST", path, headers, body)
        try:
            if self._kept is None:
                self._kept = kept_http.KeptConnection(
                    self.server.url, connect_seconds=seconds, ca_file=self._ca_file
                )
            self._kept.limit_seconds(max(started + seconds - time.monotonic(), 0.001))
            answer = self._kept.send(request)
            with kept_http.cut_on_error():
                reply = answer.read_body()
        except kept_http.ConnectionFailed as failed:
            raise failed.__cause__ or OSError(str(failed)) from None
        except kept_http.ConnectionCut as cut:
            connection, self._kept = self._kept, None
            if connection is not None and isinstance(cut.__cause__, TimeoutError):
                late_answer.watch_connection(connection.socket, self.record, started)
            raise cut.__cause__ or OSError(str(cut)) from None
        if not answer.keeps_connection:
            self._kept.close()
            self._kept = None
        return answer.status, reply
