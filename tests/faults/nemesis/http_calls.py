"""A client that costs little: one kept connection for each server, one request at a time, and a stream of events."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any


class NoAnswer(Exception):
    """The connection failed or the time was over; whether the call ran is not known."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    status: int
    body: dict[str, Any]


class _Connection(asyncio.Protocol):
    def __init__(self) -> None:
        self._received = bytearray()
        self._answer: asyncio.Future[HttpAnswer] | None = None
        self.is_open = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, found, rest = bytes(self._received).partition(b"\r\n\r\n")
        if not found:
            return
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
        if len(rest) >= length:
            self._received.clear()
            self._settle(HttpAnswer(int(head[9:12]), _decode(rest)))

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(exc or ConnectionResetError("closed"))

    def _settle(self, answer: HttpAnswer) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(answer)

    async def ask(self, request: bytes) -> HttpAnswer:
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._answer

    def abort(self) -> None:
        self.is_open = False
        self._transport.abort()


def _decode(body: bytes) -> dict[str, Any]:
    with contextlib.suppress(ValueError):
        decoded = json.loads(body)
        if isinstance(decoded, dict):
            return decoded
    return {"error": "not JSON", "text": body[:200].decode(errors="replace")}


class HttpCaller:
    """The connections of one agent."""

    def __init__(self, timeout_seconds: float) -> None:
        self._timeout_seconds = timeout_seconds
        self._connections: dict[int, _Connection] = {}

    async def request(
        self, port: int, method: str, path: str, body: bytes = b"", key: str = ""
    ) -> HttpAnswer:
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: {len(body)}\r\n"
        if body:
            head += "Content-Type: application/json\r\n"
        if key:
            head += f"Idempotency-Key: {key}\r\n"
        try:
            async with asyncio.timeout(self._timeout_seconds):
                connection = await self._connect(port)
                return await connection.ask(head.encode() + b"\r\n" + body)
        except (OSError, ValueError) as failed:  # TimeoutError is an OSError
            if connection := self._connections.pop(port, None):
                connection.abort()
            raise NoAnswer(str(failed)) from failed

    async def call(self, port: int, operation: str, arguments: dict[str, Any], key: str = "") -> HttpAnswer:
        return await self.request(port, "POST", f"/api/{operation}", json.dumps(arguments).encode(), key)

    async def _connect(self, port: int) -> _Connection:
        connection = self._connections.get(port)
        if connection is None or not connection.is_open:
            loop = asyncio.get_running_loop()
            _, connection = await loop.create_connection(_Connection, "127.0.0.1", port)
            self._connections[port] = connection
        return connection

    def close(self) -> None:
        for connection in self._connections.values():
            connection.abort()
        self._connections.clear()


@dataclass(frozen=True, slots=True)
class StreamedEvent:
    number: int
    kind: str
    body: dict[str, Any]


async def stream_events(
    port: int, project: str, after: int, silence_seconds: float
) -> AsyncIterator[StreamedEvent]:
    """The events of a project after this number, until the server ends the stream or is silent for too long."""
    async with asyncio.timeout(silence_seconds):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(
            f"GET /events?project={project} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
            f"Last-Event-ID: {after}\r\n\r\n".encode()
        )
        fields: dict[str, str] = {}
        while True:
            async with asyncio.timeout(silence_seconds):
                line = await reader.readline()
            if not line.endswith(b"\n"):
                return
            name, _, value = line.decode().strip().partition(":")
            if name in ("id", "event", "data"):
                fields[name] = value.strip()
            elif not name and "data" in fields:
                yield StreamedEvent(
                    int(fields.get("id", "0")), fields.get("event", ""), json.loads(fields["data"])
                )
                fields = {}
    finally:
        writer.transport.abort()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
