"""Heads that a connection has sent before: a request that arrives whole under one of them is not parsed again.

An agent's client repeats the same head with every call; only the length of the body changes. Parsing it and checking it
costs more than a short read of the store. What is remembered was parsed by the HTTP parser itself, so the same bytes mean
the same. It belongs to one connection and goes with it, since a head may hold a key.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from commonplace.edges.http.request import RequestHead

MAX_WHOLE_BYTES: Final = 32 * 1024
_MAX_HEADS: Final = 8
_MAX_HEAD_BYTES: Final = 1024
_END: Final = b"\r\n\r\n"
# As clients spell it; any other spelling goes through the parser.
_LENGTHS: Final = (b"\r\nContent-Length: ", b"\r\ncontent-length: ")
_MAX_LENGTH_DIGITS: Final = 5
_LENGTH_NAME: Final = b"content-length"
# With one of these the rest of a request, or its connection, is not like any other's.
_UNUSUAL: Final = frozenset({b"transfer-encoding", b"upgrade", b"expect", b"trailer"})


class WholeRequest(NamedTuple):
    """The bytes of one request: its head without the length of the body, and the body."""

    head: bytes
    body: bytes


def split_whole_request(data: bytes) -> WholeRequest | None:
    """The request, if these bytes are exactly one, in the usual form."""
    end = data.find(_END, 0, _MAX_HEAD_BYTES)
    for name in _LENGTHS:
        start = data.find(name, 0, end)
        if 0 < start < end:
            break
    else:
        return None
    line_end = data.find(b"\r", start + 2, end + 1)
    digits = data[start + len(name) : line_end]
    if not digits.isdigit() or len(digits) > _MAX_LENGTH_DIGITS or len(data) - end - len(_END) != int(digits):
        return None
    return WholeRequest(data[:start] + data[line_end:end], data[end + len(_END) :])


class KnownHead(NamedTuple):
    """A head as ASGI has it and as our requests have it, without the length of a body."""

    scope: dict[str, Any]
    head: RequestHead


class KnownHeads:
    """The heads of one connection."""

    __slots__ = ("_heads", "find_head")

    def __init__(self) -> None:
        self._heads: dict[bytes, KnownHead] = {}
        self.find_head = self._heads.get

    def remember(self, head: bytes, scope: Mapping[str, Any]) -> None:
        """Keep what the parser made of a head, if every request under it is an ordinary call."""
        names = [name for name, _ in scope["headers"]]
        if (
            scope["method"] != "POST"
            or scope["http_version"] != "1.1"
            or names.count(_LENGTH_NAME) != 1
            or not _UNUSUAL.isdisjoint(names)
            or not _keeps_connection(scope["headers"])
        ):
            return
        if len(self._heads) >= _MAX_HEADS:
            del self._heads[next(iter(self._heads))]
        known = {**scope, "headers": [field for field in scope["headers"] if field[0] != _LENGTH_NAME]}
        self._heads[head] = KnownHead(known, RequestHead(known))


def _keeps_connection(headers: list[tuple[bytes, bytes]]) -> bool:
    return all(value.lower() == b"keep-alive" for name, value in headers if name == b"connection")
