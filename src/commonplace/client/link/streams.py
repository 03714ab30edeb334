"""Streams of notifications that survive a restart of the server.

A stream alone never starts a server: it waits until one runs again. Then it tells the agent that everything it listens
to may have changed.
"""

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any, Final

from commonplace.client.link.http_connection import ConnectionCut, ConnectionFailed
from commonplace.client.link.mcp_session import ProxySession
from commonplace.client.link.message import RpcMessage, RpcRefusal, encode_message
from commonplace.client.link.upstream import Exchange, McpUpstream, SessionLost

WriteLine = Callable[[bytes], None]

_REOPEN_SECONDS: Final = 0.5
_ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
_LIST_NOTICES: Final = {
    "toolsListChanged": "notifications/tools/list_changed",
    "promptsListChanged": "notifications/prompts/list_changed",
    "resourcesListChanged": "notifications/resources/list_changed",
}


class ReopenedStream:
    """A stream that is reopened until it is stopped."""

    def __init__(self, upstream: McpUpstream, write: WriteLine) -> None:
        self._upstream, self._write = upstream, write
        self._exchange: Exchange | None = None
        self._stopped = threading.Event()

    def stop_stream(self) -> None:
        self._stopped.set()
        self.reopen_stream()

    def reopen_stream(self) -> None:
        if self._exchange is not None:
            self._exchange.cancel_exchange()

    def _read_until_stopped(self, new_exchange: Callable[[], Exchange]) -> Iterator[bytes]:
        while not self._stopped.is_set():
            with contextlib.suppress(ConnectionFailed, ConnectionCut):
                if url := self._upstream.location.running_url():
                    yield from self._read_once(url, new_exchange())
            self._stopped.wait(_REOPEN_SECONDS)

    def _read_once(self, url: str, exchange: Exchange) -> Iterator[bytes]:
        self._exchange = exchange
        if not self._stopped.is_set():
            yield from self._upstream.send_once(url, exchange)


class ListenStream(ReopenedStream):
    """`subscriptions/listen` of the stateless protocol (2026)."""

    def __init__(self, upstream: McpUpstream, write: WriteLine, message: RpcMessage) -> None:
        super().__init__(upstream, write)
        self._message = message
        self._acknowledged = False

    def run(self) -> None:
        self._upstream.wake_server()
        for line in self._read_until_stopped(lambda: Exchange(self._message)):
            self._handle_event(line)

    def _handle_event(self, line: bytes) -> None:
        message = json.loads(line)
        if "error" in message:
            self._write(line)
            self._stopped.set()
        elif message.get("method") == _ACKNOWLEDGED and self._acknowledged:
            for notice in _list_change_notices(message["params"]):
                self._write(notice)
        elif "method" in message:
            # A result means that this server ends; the stream continues on the next one.
            self._acknowledged = True
            self._write(line)


class PushStream(ReopenedStream):
    """The GET stream of the protocol with sessions (2025)."""

    def __init__(self, upstream: McpUpstream, write: WriteLine, session: ProxySession) -> None:
        super().__init__(upstream, write)
        self._session = session
        self.is_open = threading.Event()

    def run(self) -> None:
        # A server that refuses has no such stream; everything else works without it.
        with contextlib.suppress(RpcRefusal):
            for line in self._read_until_stopped(self._new_exchange):
                self._write(line)

    def _new_exchange(self) -> Exchange:
        exchange = Exchange(RpcMessage(b"{}"), self._session.session_headers(), "GET")
        exchange.on_stream_open = self._handle_open
        return exchange

    def _read_once(self, url: str, exchange: Exchange) -> Iterator[bytes]:
        lost = self._session.session_id
        try:
            yield from super()._read_once(url, exchange)
        except SessionLost:
            self._session.renew_session(lost)

    def _handle_open(self) -> None:
        if self.is_open.is_set():
            self._session.restore_settings()
            for notice in self._session.change_notices():
                self._write(notice)
        self.is_open.set()


def _list_change_notices(acknowledged: dict[str, Any]) -> Iterator[bytes]:
    granted, tag = acknowledged.get("notifications", {}), {"_meta": acknowledged.get("_meta", {})}
    for flag, method in _LIST_NOTICES.items():
        if granted.get(flag):
            yield encode_message({"jsonrpc": "2.0", "method": method, "params": tag})
    for uri in granted.get("resourceSubscriptions", []):
        yield encode_message(
            {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri, **tag}}
        )
