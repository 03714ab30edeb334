"""One HTTP request as every route sees it: its headers, its caller, and a body that is bounded before it is read.

A large body must announce its length, few are read at once, and a slow sender is cut off. `read_json` refuses hostile
JSON: the costly checks run only where a cheap upper bound cannot rule the danger out (brackets and commas bound the
number of values; as many colons as keys means that no key is repeated). Arguments of operations are checked later, in
`operation.py`; JSON-RPC in `mcp/messages.py`. The answer goes out through `response.py`.
"""

import asyncio
import contextlib
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Coroutine, Mapping, MutableMapping
from typing import Any, ClassVar, Final, Self

import msgspec

from commonplace import errors
from commonplace.access import Caller
from commonplace.edges.http.refusals import MalformedJson, TooSlow, UnsupportedMediaType
from commonplace.edges.limits import ClientLimits

Scope = MutableMapping[str, Any]
Receive = Callable[[], Coroutine[Any, Any, MutableMapping[str, Any]]]

_JSON_TYPE: Final = "application/json"
_LARGE_BODIES_AT_ONCE: Final = 2
# The rest of a body this short is left to uvicorn, which discards it and keeps the connection.
_SHORT_BODY_BYTES: Final = 64 * 1024
# Possessive, and the closing quote optional: linear even on a string that never ends.
_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_DIGITS: Final = re.compile(r"[0-9]{1,19}")
_INT64: Final = range(-(2**63), 2**63)
# A number follows one of these, so that the digits of a text are not looked at.
_LONG_NUMBER: Final = re.compile(rb"[\s:,\[-][0-9]{19}")
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


class ClientDisconnected(Exception):
    """The client closed the connection before its request was complete."""


class Request:
    """The router sets `caller` before it hands the request to a route that needs a key."""

    caller: Caller

    def __init__(self, scope: Scope, receive: Receive, limits: ClientLimits) -> None:
        self.receive, self.limits = receive, limits
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
        length = parse_integer(self.headers.get("content-length", "0"))
        return length is None or length > _SHORT_BODY_BYTES

    def require_json(self) -> None:
        """Refuse a body that is not announced as JSON: a page of another site may send text and forms unasked."""
        if self.content_encoding != "identity":
            raise UnsupportedMediaType("A compressed body is not accepted.", hint="Send plain JSON.")
        kind = self.headers.get("content-type", "" if "origin" in self.headers else _JSON_TYPE)
        if kind != _JSON_TYPE and kind.partition(";")[0].strip().lower() != _JSON_TYPE:
            raise UnsupportedMediaType(
                "The body is not application/json.", hint="Send JSON with Content-Type: application/json."
            )

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
            self._body_state = "reading"
            return await self._read_parts(bound)

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
                    message = await self.receive()
                    if not message.get("more_body"):
                        return
                    left -= len(message["body"])

    async def _read_parts(self, bound: "BodyBound") -> bytes:
        started = asyncio.get_running_loop().time() + self.limits.body_grace_seconds
        # One block that grows: many parts would leave the heap in pieces that are never given back.
        body = bytearray()
        try:
            async with asyncio.timeout_at(started) as deadline:
                while True:
                    message = await self.receive()
                    body += _read_part(message)
                    bound.require_within(len(body))
                    if not message.get("more_body"):
                        break
                    deadline.reschedule(started + len(body) / self.limits.bytes_per_second)
        except TimeoutError:
            raise TooSlow(hint="Send it again, faster.") from None
        self._body_state = "read"
        return bytes(body)


class BodyBound:
    """Judges one body by the length that its headers announce, then by the bytes that have arrived."""

    _large_bodies: ClassVar[int] = 0

    def __init__(self, announced: str | None, largest: int, ordinary: int) -> None:
        self._max_bytes = min(largest, ordinary) if announced is None else largest
        length = 0 if announced is None else parse_integer(announced)
        if length is None:
            length = self._max_bytes + 1
        self.require_within(length)
        self._is_large = length > ordinary
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


def _read_part(message: MutableMapping[str, Any]) -> bytes:
    if message["type"] == "http.disconnect":
        raise ClientDisconnected
    part: bytes = message.get("body", b"")
    return part


def _find_repeated(pairs: list[tuple[str, str]]) -> frozenset[str]:
    counts = Counter(name for name, _value in pairs)
    return frozenset(name for name, count in counts.items() if count > 1)


def parse_integer(text: str) -> int | None:
    """The number, or None if the text is anything but ASCII digits or does not fit in 64 bits."""
    number = int(text) if _DIGITS.fullmatch(text) else -1
    return number if number >= 0 and number in _INT64 else None


async def read_json(body: bytes, limits: ClientLimits) -> Any:
    """Decode any JSON value; a large body is decoded in a thread."""
    if len(body) > limits.decode_inline_bytes:
        return await asyncio.to_thread(_decode_checked, body, limits)
    return _decode_checked(body, limits)


def _decode_checked(body: bytes, limits: ClientLimits) -> Any:
    most = limits.json_values
    if (
        len(body) > most
        and _count_values_at_most(body) > most
        and _count_values_at_most(_STRING.sub(b"", body)) > most
    ):
        raise MalformedJson(f"The body has more than {most} values.", hint="Send less at once.")
    try:
        tree = _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedJson(f"The body is not valid JSON: {error}.", hint="Send JSON in UTF-8.") from None
    if _is_plain(body, tree, limits.json_depth):
        return tree
    keys = _count_keys(tree, limits.json_depth)
    if body.count(b":") != keys:
        _refuse_repeated_keys(body)
    if b"\\u0000" in body:
        _refuse_nul(tree)
    return tree


def _count_values_at_most(body: bytes) -> int:
    return body.count(b",") + body.count(b"[") + body.count(b"{") + 1


def _is_plain(body: bytes, tree: Any, depth: int) -> bool:
    """Whether counting alone shows that nothing is refused: no escape, no long number, not deep, no key repeated.

    A repeated key is lost in the tree, and with it a colon.
    """
    return (
        type(tree) is dict
        and b"\\" not in body
        and body.count(b"[") + body.count(b"{") <= depth
        and _LONG_NUMBER.search(body) is None
        and _encode(tree).count(b":") == body.count(b":")
    )


def _count_keys(tree: Any, depth: int) -> int:
    """Count the object keys of the whole tree, and refuse what is too deep or a number too large."""
    keys = 0
    level = [tree]
    while level:
        below: list[Any] = []
        for value in level:
            kind = type(value)
            if kind is dict:
                keys += len(value)
                below.extend(value.values())
            elif kind is list:
                below.extend(value)
            elif kind is int and value not in _INT64:
                raise MalformedJson("A number does not fit in 64 bits.", hint="Send it as a string.")
        depth -= 1
        # One level of plain values may lie below the deepest container.
        if depth < -1:
            raise MalformedJson("The body is nested too deeply.", hint="Send a flatter value.")
        level = below
    return keys


def _refuse_repeated_keys(body: bytes) -> None:
    def require_unique(pairs: list[tuple[str, Any]]) -> None:
        if len(pairs) != len(dict(pairs)):
            raise MalformedJson("An object repeats a key.", hint="Send each key once.")

    json.loads(body, object_pairs_hook=require_unique)


def _refuse_nul(tree: Any) -> None:
    level = [tree]
    while level:
        value = level.pop()
        if isinstance(value, dict):
            level.extend(value.keys())
            level.extend(value.values())
        elif isinstance(value, list):
            level.extend(value)
        elif isinstance(value, str) and "\0" in value:
            raise MalformedJson("Text must not contain the character U+0000.", hint="Remove it.")
