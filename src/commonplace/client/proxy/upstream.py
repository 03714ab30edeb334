"""The server as the proxy sees it: asked, and asked again where that can harm nobody."""

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any, Final

from commonplace.client.kept_http import (
    ConnectionCut,
    ConnectionFailed,
    ConnectionPool,
    KeptConnection,
    StreamedAnswer,
    cut_on_error,
)
from commonplace.client.light_http import build_request
from commonplace.client.proxy.message import (
    LOST,
    REFUSED,
    UNAVAILABLE,
    Message,
    Refused,
    encoded,
    header_value,
)
from commonplace.client.proxy.place import Place

_ATTEMPTS: Final = 3
_REFUSALS: Final = 400
_UNAUTHORIZED: Final = 401
_NOT_FOUND: Final = 404
_GIVE_KEY: Final = "Give a key: COMMONPLACE_KEY, --key, or config.toml."
_TOOLS: Final = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'


class SessionLost(Exception):  # noqa: N818 - a state of the world, not a fault of ours
    """The server knows the session of this message no more."""


class Exchange:
    """One request under way; another thread may cancel it, which ends its answer."""

    def __init__(self, message: Message, session: list[str] | None = None, method: str = "POST") -> None:
        self.message, self.method = message, method
        self.session = session or []
        """The headers that name its session, in the era that has them."""
        self.cancelled = False
        self.session_id = ""
        self.on_open: Callable[[], None] | None = None
        """Told when the answer turns out to be a stream."""
        self._connection: KeptConnection | None = None
        self._lock = threading.Lock()

    def cancel(self) -> None:
        with self._lock:
            self.cancelled = True
            if self._connection is not None:
                self._connection.cut()

    def hold(self, connection: KeptConnection | None) -> None:
        """The connection that cancelling would cut."""
        with self._lock:
            self._connection = connection
            if connection is not None and self.cancelled:
                connection.cut()


class Upstream:
    def __init__(self, place: Place, key: str = "", toolsets: str = "") -> None:
        self.place = place
        self._connections = ConnectionPool()
        self._path = f"/mcp/x/{toolsets}" if toolsets else "/mcp"
        self._fixed = ["Content-Type: application/json", "Accept: application/json, text/event-stream"]
        self._fixed += [f"Authorization: Bearer {header_value(key)}"] if key else []

    def wake(self) -> None:
        """Sees to it that a server runs; the connection that shows it is kept for the first request."""
        for _ in range(_ATTEMPTS):
            url = self.place.url()
            try:
                self._connections.give_back(self._connections.take(url))
            except ConnectionFailed:
                self.place.lost(url)
            else:
                return
        raise Refused(UNAVAILABLE, "The server ends again and again before it answers.")

    def close(self) -> None:
        self._connections.close()

    def lines(self, exchange: Exchange) -> Iterator[bytes]:
        """What the server says to a message, whichever server it is by then."""
        for _ in range(_ATTEMPTS):
            url = self.place.url()
            try:
                yield from self.lines_from(url, exchange)
            except ConnectionFailed:
                self.place.lost(url)
            except ConnectionCut:
                if exchange.cancelled:
                    return
                self._refuse_to_repeat(exchange.message, url)
            else:
                return
        raise Refused(UNAVAILABLE, "The server ends again and again before it answers.")

    def lines_from(self, url: str, exchange: Exchange) -> Iterator[bytes]:
        """What the server at an address says, once."""
        connection = self._connections.take(url)
        exchange.hold(connection)
        whole = False
        try:
            with cut_on_error():
                answer = connection.send(self._build_request(url, exchange))
                yield from _said(exchange, answer)
                whole = answer.keeps_connection
        finally:
            exchange.hold(None)
            if whole:
                self._connections.give_back(connection)
            else:
                connection.close()

    def _build_request(self, url: str, exchange: Exchange) -> bytes:
        body = exchange.message.line if exchange.method == "POST" else b""
        headers = [*self._fixed, *exchange.message.headers(), *exchange.session]
        return build_request(url, exchange.method, self._path, headers, body)

    def _refuse_to_repeat(self, message: Message, url: str) -> None:
        """Reading twice is reading; writing twice may be writing twice."""
        if message.method != "tools/call":
            self.place.lost(url)
        elif message.params.get("name") not in self._reading_tools(url):
            raise Refused(
                LOST,
                "The server ended before it answered; what was asked may have been done or not.",
                hint="Look before you ask again. The next call reaches a running server.",
            )

    def _reading_tools(self, url: str) -> set[str]:
        """By what the server says of its own tools; it runs again once it has answered this. None if it cannot."""
        try:
            self.place.lost(url)
            (line,) = self.lines(Exchange(Message(_TOOLS)))
        except Refused:
            return set()
        tools: list[dict[str, Any]] = json.loads(line).get("result", {}).get("tools", [])
        return {tool["name"] for tool in tools if tool.get("annotations", {}).get("readOnlyHint")}


def _said(exchange: Exchange, answer: StreamedAnswer) -> Iterator[bytes]:
    if answer.status >= _REFUSALS:
        yield from _refusal(exchange, answer.status, answer.read_body())
    elif answer.is_event_stream:
        if exchange.on_open is not None:
            exchange.on_open()
        yield from answer.read_events()
    else:
        exchange.session_id = answer.headers.get("mcp-session-id", "")
        if body := answer.read_body():
            yield body.replace(b"\n", b" ")


def _refusal(exchange: Exchange, status: int, body: bytes) -> Iterator[bytes]:
    """As the server said it where it speaks JSON-RPC, else in our words; always to the one who asked."""
    if status == _NOT_FOUND and exchange.session:
        raise SessionLost
    try:
        said = json.loads(body)
    except ValueError:
        said = {}
    if "jsonrpc" in said:
        if said.get("id") is None:
            said["id"] = exchange.message.id
        yield encoded(said)
        return
    text = str(said.get("message") or f"The server answered {status}.")
    hint = _GIVE_KEY if status == _UNAUTHORIZED else said.get("hint")
    raise Refused(REFUSED, text, status=status, **({"hint": hint} if hint else {}))
