"""The proxy's requests to the server, repeated on a restarted server; a repeated call is carried out once."""

import json
import os
import threading
from collections.abc import Callable, Iterator
from typing import Final

from commonplace import window
from commonplace.client.link.http_connection import (
    ConnectionCut,
    ConnectionFailed,
    ConnectionPool,
    KeptConnection,
    StreamedAnswer,
    build_request,
    cut_on_error,
)
from commonplace.client.link.message import (
    REFUSED,
    UNAVAILABLE,
    RpcMessage,
    RpcRefusal,
    encode_header_value,
    encode_message,
)
from commonplace.client.link.server_location import ServerLocation

_ATTEMPTS: Final = 3
_FIRST_ERROR_STATUS: Final = 400
_UNAUTHORIZED: Final = 401
_NOT_FOUND: Final = 404
_KEY_HINT: Final = "Set a key: COMMONPLACE_KEY, --key, or `key` in config.toml."


class SessionLost(Exception):
    """The server does not know the session of this message any more."""


class Exchange:
    """One request in progress; another thread may cancel it."""

    def __init__(self, message: RpcMessage, session: list[str] | None = None, method: str = "POST") -> None:
        self.message, self.method = message, method
        self.session = session or []
        """The headers that name its session, in the protocol that has sessions."""
        self.key = os.urandom(16).hex()
        """The same whenever the message is sent, so that a call is carried out once."""
        self.cancelled = False
        self.session_id = ""
        self.on_stream_open: Callable[[], None] | None = None
        """Called when the answer is a stream."""
        self._connection: KeptConnection | None = None
        self._lock = threading.Lock()

    def cancel_exchange(self) -> None:
        with self._lock:
            self.cancelled = True
            if self._connection is not None:
                self._connection.cut()

    def set_connection(self, connection: KeptConnection | None) -> None:
        """Set the connection that `cancel_exchange` cuts."""
        with self._lock:
            self._connection = connection
            if connection is not None and self.cancelled:
                connection.cut()


class McpUpstream:
    def __init__(self, location: ServerLocation, key: str = "", toolsets: str = "") -> None:
        self.location = location
        self._connections = ConnectionPool()
        self._path = f"/mcp/x/{toolsets}" if toolsets else "/mcp"
        self._fixed_headers = [
            "Content-Type: application/json",
            "Accept: application/json, text/event-stream",
        ]
        self._fixed_headers += [f"Authorization: Bearer {encode_header_value(key)}"] if key else []
        # The agent program runs this process and its hooks, so both know its process id.
        agent_process = window.process_window(os.getppid())
        self._fixed_headers.append(f"{window.WINDOW_HEADER}: {window.encode_header_value(agent_process)}")
        self._client_name = ""

    def wake_server(self) -> None:
        """Make sure that a server runs; keep the connection for the first request."""
        for _ in range(_ATTEMPTS):
            url = self.location.server_url()
            try:
                self._connections.give_back(self._connections.take(url))
            except ConnectionFailed:
                self.location.mark_lost(url)
            else:
                return
        raise RpcRefusal(UNAVAILABLE, "The server keeps ending before it answers.")

    def close(self) -> None:
        self._connections.close()

    def send_anywhere(self, exchange: Exchange) -> Iterator[bytes]:
        """The lines of the answer, from whichever server runs by then."""
        for _ in range(_ATTEMPTS):
            url = self.location.server_url()
            try:
                yield from self.send_once(url, exchange)
            except ConnectionFailed:
                self.location.mark_lost(url)
            except ConnectionCut:
                if exchange.cancelled:
                    return
                # A repeated call is carried out once: it has the same idempotency key.
                self.location.mark_lost(url)
            else:
                return
        raise RpcRefusal(UNAVAILABLE, "The server keeps ending before it answers.")

    def send_once(self, url: str, exchange: Exchange) -> Iterator[bytes]:
        """The lines of the answer from the server at this address, without a retry."""
        connection = self._connections.take(url)
        exchange.set_connection(connection)
        whole = False
        try:
            with cut_on_error():
                answer = connection.send(self._build_request(url, exchange))
                yield from _read_answer_lines(exchange, answer)
                whole = answer.keeps_connection
        finally:
            exchange.set_connection(None)
            if whole:
                self._connections.give_back(connection)
            else:
                connection.close()

    def _build_request(self, url: str, exchange: Exchange) -> bytes:
        body = exchange.message.line if exchange.method == "POST" else b""
        headers = [*self._fixed_headers, *exchange.message.protocol_headers(), *exchange.session]
        if exchange.message.method == "tools/call":
            headers.append(f"{window.IDEMPOTENCY_HEADER}: {exchange.key}")
        self._client_name = exchange.message.client_name or self._client_name
        if tool := window.tool_of_client(self._client_name):
            seat = window.encode_header_value(f"{tool}@{window.machine_name()}")
            headers.append(f"{window.SEAT_HEADER}: {seat}")
        return build_request(url, exchange.method, self._path, headers, body)


def _read_answer_lines(exchange: Exchange, answer: StreamedAnswer) -> Iterator[bytes]:
    if answer.status >= _FIRST_ERROR_STATUS:
        yield from _read_refusal(exchange, answer.status, answer.read_body())
    elif answer.is_event_stream:
        if exchange.on_stream_open is not None:
            exchange.on_stream_open()
        yield from answer.read_events()
    else:
        exchange.session_id = answer.headers.get("mcp-session-id", "")
        if body := answer.read_body():
            yield body.replace(b"\n", b" ")


def _read_refusal(exchange: Exchange, status: int, body: bytes) -> Iterator[bytes]:
    """The server's JSON-RPC error with the request's id, or an RpcRefusal made from any other error body."""
    if status == _NOT_FOUND and exchange.session:
        raise SessionLost
    try:
        error = json.loads(body)
    except ValueError:
        error = {}
    if "jsonrpc" in error:
        if error.get("id") is None:
            error["id"] = exchange.message.id
        yield encode_message(error)
        return
    text = str(error.get("message") or f"The server answered {status}.")
    hint = _KEY_HINT if status == _UNAUTHORIZED else error.get("hint")
    raise RpcRefusal(REFUSED, text, status=status, **({"hint": hint} if hint else {}))
