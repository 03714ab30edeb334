"""Open connections to servers, kept warm by a request now and then so that neither side closes them."""

import threading
import time
from typing import NamedTuple

from commonplace.client.link import light_http
from commonplace.client.link.kept_http import ConnectionCut, ConnectionFailed, KeptConnection, cut_on_error

_REFRESH_SECONDS = 25.0
"""Shorter than servers, proxies and routers keep an idle connection."""
_PING_SECONDS = 5.0
_MAX_IDLE_PER_TARGET = 4


class ServerTarget(NamedTuple):
    url: str
    ca_file: str


class WarmConnections:
    def __init__(self) -> None:
        self._idle: dict[ServerTarget, list[KeptConnection]] = {}
        self._lock = threading.Lock()

    def take_connection(self, target: ServerTarget) -> KeptConnection | None:
        """A connection that the server still holds open; None if there is none."""
        while (connection := self._pop_idle(target)) is not None:
            if connection.is_reusable:
                return connection
            connection.close()
        return None

    def give_back(self, target: ServerTarget, connection: KeptConnection) -> None:
        connection.used_at = time.monotonic()
        with self._lock:
            idle = self._idle.setdefault(target, [])
            if len(idle) < _MAX_IDLE_PER_TARGET:
                idle.append(connection)
                return
        connection.close()

    def refresh_connections(self) -> None:
        """Use every connection that was idle for a while, and keep one open to each server that answers."""
        for target in list(self._idle):
            with self._lock:
                due = [one for one in self._idle[target] if time.monotonic() - one.used_at > _REFRESH_SECONDS]
                self._idle[target] = [one for one in self._idle[target] if one not in due]
            for connection in due[1:]:
                connection.close()
            if due and not self._ping_server(target, due[0]):
                self.open_warm(target)

    def open_warm(self, target: ServerTarget) -> None:
        """Connect before somebody waits for it. A server that is away is left to the next hook."""
        try:
            connection = KeptConnection(target.url, connect_seconds=_PING_SECONDS, ca_file=target.ca_file)
        except ConnectionFailed:
            return
        self.give_back(target, connection)

    def close(self) -> None:
        for target in list(self._idle):
            while (connection := self._pop_idle(target)) is not None:
                connection.close()

    def _ping_server(self, target: ServerTarget, connection: KeptConnection) -> bool:
        if not connection.is_reusable:
            connection.close()
            return False
        connection.limit_seconds(_PING_SECONDS)
        try:
            answer = connection.send(light_http.build_request(target.url, "GET", "/health", (), b""))
            with cut_on_error():
                answer.read_body()
        except ConnectionCut:
            connection.close()
            return False
        if answer.keeps_connection:
            self.give_back(target, connection)
        else:
            connection.close()
        return True

    def _pop_idle(self, target: ServerTarget) -> KeptConnection | None:
        with self._lock:
            idle = self._idle.get(target)
            return idle.pop() if idle else None
