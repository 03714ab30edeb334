"""Streams of news that outlive the server they come from.

A stream alone is no reason to start a server: it waits until there is one again, and then tells the agent to look
again at all it listens to, since nobody knows what changed meanwhile.
"""

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any, Final

from commonplace.client.kept_http import ConnectionCut, ConnectionFailed
from commonplace.client.proxy.message import Message, Refused, encoded
from commonplace.client.proxy.session import Session
from commonplace.client.proxy.upstream import Exchange, SessionLost, Upstream

Write = Callable[[bytes], None]

_PAUSE_SECONDS: Final = 0.5
_ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
_LIST_NOTICES: Final = {
    "toolsListChanged": "notifications/tools/list_changed",
    "promptsListChanged": "notifications/prompts/list_changed",
    "resourcesListChanged": "notifications/resources/list_changed",
}


class Stream:
    """What both eras' streams have in common: they are opened again and again until they are stopped."""

    def __init__(self, upstream: Upstream, write: Write) -> None:
        self._upstream, self._write = upstream, write
        self._exchange: Exchange | None = None
        self._over = threading.Event()

    def stop(self) -> None:
        self._over.set()
        self.reopen()

    def reopen(self) -> None:
        if self._exchange is not None:
            self._exchange.cancel()

    def _heard(self, asking: Callable[[], Exchange]) -> Iterator[bytes]:
        while not self._over.is_set():
            with contextlib.suppress(ConnectionFailed, ConnectionCut):
                if url := self._upstream.place.running():
                    yield from self._once(url, asking())
            self._over.wait(_PAUSE_SECONDS)

    def _once(self, url: str, exchange: Exchange) -> Iterator[bytes]:
        self._exchange = exchange
        if not self._over.is_set():
            yield from self._upstream.lines_from(url, exchange)


class Listening(Stream):
    """`subscriptions/listen` of the stateless era."""

    def __init__(self, upstream: Upstream, write: Write, message: Message) -> None:
        super().__init__(upstream, write)
        self._message = message
        self._acknowledged = False

    def run(self) -> None:
        self._upstream.wake()
        for line in self._heard(lambda: Exchange(self._message)):
            self._take(line)

    def _take(self, line: bytes) -> None:
        heard = json.loads(line)
        if "error" in heard:
            self._write(line)
            self._over.set()
        elif heard.get("method") == _ACKNOWLEDGED and self._acknowledged:
            for notice in _look_again(heard["params"]):
                self._write(notice)
        elif "method" in heard:
            # A result would say that this server ends; the stream goes on with the next one.
            self._acknowledged = True
            self._write(line)


class Pushed(Stream):
    """What the era of sessions pushes to a session without being asked."""

    def __init__(self, upstream: Upstream, write: Write, session: Session) -> None:
        super().__init__(upstream, write)
        self._session = session
        self.opened = threading.Event()

    def run(self) -> None:
        # A server that refuses has no such stream, and everything else works without it.
        with contextlib.suppress(Refused):
            for line in self._heard(self._asking):
                self._write(line)

    def _asking(self) -> Exchange:
        exchange = Exchange(Message(b"{}"), self._session.headers(), "GET")
        exchange.on_open = self._open
        return exchange

    def _once(self, url: str, exchange: Exchange) -> Iterator[bytes]:
        lost = self._session.id
        try:
            yield from super()._once(url, exchange)
        except SessionLost:
            self._session.renew(lost)

    def _open(self) -> None:
        if self.opened.is_set():
            self._session.restore()
            for notice in self._session.look_again():
                self._write(notice)
        self.opened.set()


def _look_again(acknowledged: dict[str, Any]) -> Iterator[bytes]:
    granted, tag = acknowledged.get("notifications", {}), {"_meta": acknowledged.get("_meta", {})}
    for flag, method in _LIST_NOTICES.items():
        if granted.get(flag):
            yield encoded({"jsonrpc": "2.0", "method": method, "params": tag})
    for uri in granted.get("resourceSubscriptions", []):
        yield encoded(
            {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri, **tag}}
        )
