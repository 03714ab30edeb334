"""One HTTP request as every route sees it: its headers, its caller, and a body that is bounded before it is read.

A large body must announce its length, few are read at once, and a slow sender is cut off. JSON is read by
json_reader.py; the answer goes out through response.py.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, MutableMapping
from typing import Any, ClassVar, Final, Self

from commonplace import errors
from commonplace.access import Caller
from commonplace.edges.http.refusals import TooSlow
from commonplace.edges.limits import ClientLimits

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

_LARGE_BODIES_AT_ONCE: Final = 2
# The rest of a body this short is left to uvicorn, which discards it and keeps the connection.
_SHORT_BODY_BYTES: Final = 64 * 1024


class ClientDisconnected(Exception):  # noqa: N818 - nobody is left to answer, which is not a fault
    """The client closed the connection before its request was complete."""


class Request:
    """The router sets `caller` before it hands the request to a route that needs a key."""

    __slots__ = (
        "_body_state",
        "_receive",
        "address",
        "caller",
        "content_encoding",
        "headers",
        "limits",
        "method",
        "path",
        "query",
        "repeated_headers",
    )

    caller: Caller

    def __init__(self, scope: Scope, receive: Receive, limits: ClientLimits) -> None:
        self._receive, self.limits = receive, limits
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.query: bytes = scope.get("query_string", b"")
        client = scope.get("client")
        self.address: str = client[0] if client else ""
        pairs = [
            (name.decode("latin-1"), value.decode("latin-1").strip()) for name, value in scope["headers"]
        ]
        self.headers: Mapping[str, str] = dict(pairs)
        self.repeated_headers = _find_repeated(pairs) if len(pairs) != len(self.headers) else frozenset()
        self.content_encoding: str = self.headers.get("content-encoding", "identity").lower()
        self._body_state = "unread"

    @property
    def accepts_event_stream(self) -> bool:
        accepted = self.headers.get("accept", "*/*")
        return "text/event-stream" in accepted or "*/*" in accepted

    @property
    def has_body_to_drain(self) -> bool:
        """Whether the client may still be sending more than uvicorn should silently discard."""
        if self._body_state == "read":
            return False
        if self._body_state == "reading" or "transfer-encoding" in self.headers:
            return True
        length = self.headers.get("content-length", "0")
        return not length.isdecimal() or int(length) > _SHORT_BODY_BYTES

    async def read_body(
        self, max_bytes: int | None = None, encodings: Collection[str] = ("identity",)
    ) -> bytes:
        """Read the whole body. With `max_bytes` that is the only bound, else the limits' two sizes apply."""
        if self.content_encoding not in encodings:
            raise errors.Invalid(
                f"A body in '{self.content_encoding[:40]}' is not accepted here.",
                hint=f"Send {' or '.join(encodings)}.",
            )
        largest = max_bytes or self.limits.body_bytes
        ordinary = max_bytes or self.limits.ordinary_body_bytes
        with BodyBound(self.headers.get("content-length"), largest, ordinary) as bound:
            return await self._read_body(bound)

    async def receive(self) -> MutableMapping[str, Any]:
        """The next message of the connection; after the body only a disconnect comes."""
        return await self._receive()

    async def drain_body(self) -> None:
        """Discard what the client still sends, within bounds.

        Closing a socket with unread bytes resets the connection, and the client then may not see the answer.
        """
        loop, left = asyncio.get_running_loop(), self.limits.drain_bytes
        ends = loop.time() + self.limits.drain_seconds
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(ends) as deadline:
                while left > 0:
                    deadline.reschedule(min(ends, loop.time() + self.limits.drain_idle_seconds))
                    message = await self._receive()
                    if not message.get("more_body"):
                        return
                    left -= len(message["body"])

    async def _read_body(self, bound: "BodyBound") -> bytes:
        self._body_state = "reading"
        started = asyncio.get_running_loop().time() + self.limits.body_grace_seconds
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout_at(started) as deadline:
                while True:
                    message = await self._receive()
                    if message["type"] == "http.disconnect":
                        raise ClientDisconnected
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    bound.require_within(size)
                    if not message.get("more_body"):
                        self._body_state = "read"
                        return parts[0] if len(parts) == 1 else b"".join(parts)
                    deadline.reschedule(started + size / self.limits.bytes_per_second)
        except TimeoutError:
            raise TooSlow(hint="Send it again, faster.") from None


class BodyBound:
    """Judges one body by the length that its headers announce, then by the bytes that have arrived."""

    _large_bodies: ClassVar[int] = 0

    def __init__(self, announced: str | None, largest: int, ordinary: int) -> None:
        self._max_bytes = min(largest, ordinary) if announced is None else largest
        length = "0" if announced is None else announced
        self.require_within(int(length) if length.isdecimal() else self._max_bytes + 1)
        self._is_large = int(length) > ordinary
        if self._is_large and BodyBound._large_bodies >= _LARGE_BODIES_AT_ONCE:
            raise errors.TooMany(
                f"{_LARGE_BODIES_AT_ONCE} bodies of more than {ordinary} bytes are being read.",
                hint="Try again in a moment, or send less at once.",
                retry_after=1,
            )

    def __enter__(self) -> Self:
        BodyBound._large_bodies += self._is_large
        return self

    def __exit__(self, *_: object) -> None:
        BodyBound._large_bodies -= self._is_large

    def require_within(self, size: int) -> None:
        if size > self._max_bytes:
            raise errors.TooLarge(
                f"The body is larger than {self._max_bytes} bytes.", hint="Send less at once."
            )


def _find_repeated(pairs: list[tuple[str, str]]) -> frozenset[str]:
    counts = Counter(name for name, _value in pairs)
    return frozenset(name for name, count in counts.items() if count > 1)
