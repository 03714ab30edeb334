"""Reading a request's body within bounds of size and patience."""

import asyncio
from collections.abc import Mapping

from commonplace import errors
from commonplace.edges.large import Large
from commonplace.edges.mcp.exchange import Header, Receive, wait_header
from commonplace.edges.mcp.limits import Limits
from commonplace.edges.mcp.messages import Interruption, refusal_body

_TOO_SLOW = 408
_UNSUPPORTED = 415


class BodyRefused(Interruption):
    """The body is not read any further."""

    def __init__(self, status: int, message: str, hint: str, *headers: Header) -> None:
        super().__init__(message)
        self.status = status
        self.body = refusal_body(status, message, hint)
        self.headers = headers


class ClientGone(Interruption):
    """Nobody is left to answer."""


def check_headers(headers: Mapping[str, str]) -> None:
    """What can be refused before a single byte is read."""
    if headers.get("content-encoding", "identity") != "identity":
        raise BodyRefused(_UNSUPPORTED, "A compressed body is not accepted.", "Send plain JSON.")
    kind = headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise BodyRefused(_UNSUPPORTED, "The body is not application/json.", "Send JSON, and say so.")


async def read_body(receive: Receive, length: str | None, limits: Limits) -> bytes:
    """`length` is what the headers say."""
    try:
        with Large(length, limits.body_bytes) as large:
            return await _read(receive, large, limits)
    except errors.Refusal as refusal:
        raise BodyRefused(
            refusal.status,
            refusal.message,
            refusal.hint or "",
            *wait_header(refusal.details.get("retry_after")),
        ) from None


async def _read(receive: Receive, large: Large, limits: Limits) -> bytes:
    started = asyncio.get_running_loop().time() + limits.body_grace_seconds
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout_at(started) as deadline:
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientGone
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                large.grow(size)
                if not message.get("more_body"):
                    return parts[0] if len(parts) == 1 else b"".join(parts)
                deadline.reschedule(started + size / limits.body_bytes_per_second)
    except TimeoutError:
        raise BodyRefused(_TOO_SLOW, "The body came too slowly.", "Send it again, faster.") from None
