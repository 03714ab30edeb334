"""Every HTTP route on one screen, and what is true of each: host, origin, key, bounds, refusals."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, MutableMapping
from typing import Any

import msgspec

from commonplace import errors
from commonplace.access import Caller
from commonplace.edges.large import Large

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Identify = Callable[[Mapping[str, str], str, bytes], Awaitable[Caller]]
"""Who sent these headers from that address; the query is there to be refused where it holds a key."""

_log = logging.getLogger(__name__)

_GRACE_SECONDS = 5.0
_LEAST_RATE = 1024
# What of a refusal HTTP has a header for.
_TOLD = {"allow": b"allow", "retry_after": b"retry-after", "content_range": b"content-range"}
_SAFETY = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
)


class Request:
    """One HTTP request as the routes see it."""

    __slots__ = ("_receive", "caller", "headers", "method", "path", "query", "scope")

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.scope, self._receive = scope, receive
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.query: bytes = scope["query_string"]
        self.headers: Mapping[str, str] = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        self.caller: Caller | None = None

    @property
    def encoding(self) -> str:
        return self.headers.get("content-encoding", "identity").strip().lower()

    @property
    def address(self) -> str:
        client = self.scope.get("client")
        return client[0] if client else ""

    async def body(self, largest: int | None = None, encodings: Collection[str] = ("identity",)) -> bytes:
        """The whole body, refused before it is read when it is too large, and while it drips."""
        if self.encoding not in encodings:
            raise errors.Invalid(
                f"A body in '{self.encoding[:40]}' is not accepted here.",
                hint=f"Send {' or '.join(encodings)}.",
            )
        length = self.headers.get("content-length")
        with Large(length, largest, largest) if largest else Large(length) as reading:
            return await self._read(reading)

    async def gone(self) -> None:
        """Returns when the client goes away."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def _read(self, reading: Large) -> bytes:
        parts: list[bytes] = []
        size = 0
        loop = asyncio.get_running_loop()
        started = loop.time()
        while True:
            patience = _GRACE_SECONDS + size / _LEAST_RATE - (loop.time() - started)
            message = await _within(self._receive(), patience)
            if message["type"] == "http.disconnect":
                raise errors.Invalid("The client went away.")
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            reading.grow(size)
            if not message.get("more_body"):
                return b"".join(parts)


async def _within(message: Awaitable[MutableMapping[str, Any]], patience: float) -> MutableMapping[str, Any]:
    try:
        return await asyncio.wait_for(message, max(patience, 0.01))
    except TimeoutError:
        raise TooSlow from None


class TooSlow(errors.Refusal):
    """The body came too slowly."""

    code = "too_slow"
    status = 408


async def start(
    send: Send, status: int, length: int, content_type: bytes, *headers: tuple[bytes, bytes]
) -> None:
    """The head of a response whose body the caller sends."""
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [
                (b"content-type", content_type),
                (b"content-length", str(length).encode()),
                *_SAFETY,
                *headers,
            ],
        }
    )


async def respond(
    send: Send, status: int, body: bytes, content_type: bytes, *headers: tuple[bytes, bytes]
) -> None:
    await start(send, status, len(body), content_type, *headers)
    await send({"type": "http.response.body", "body": body})


async def respond_json(send: Send, status: int, value: Any, *headers: tuple[bytes, bytes]) -> None:
    body = value if isinstance(value, bytes) else msgspec.json.encode(value)
    await respond(send, status, body, b"application/json", *headers)


async def respond_refusal(send: Send, refusal: errors.Refusal, *headers: tuple[bytes, bytes]) -> None:
    closes = ((b"connection", b"close"),) if isinstance(refusal, errors.TooLarge | TooSlow) else ()
    asks = ((b"www-authenticate", b"Bearer"),) if refusal.status == 401 else ()  # noqa: PLR2004 - HTTP's own number
    told = [
        (header, str(refusal.details[name]).encode())
        for name, header in _TOLD.items()
        if name in refusal.details
    ]
    await respond_json(send, refusal.status, refusal.body(), *closes, *asks, *told, *headers)


class Response:
    """Where a route sends its answer; it remembers whether the answer has begun."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.has_begun = False

    async def __call__(self, message: MutableMapping[str, Any]) -> None:
        self.has_begun = True
        await self._send(message)

    async def refuse(self, refusal: errors.Refusal, request: Request) -> None:
        """What has begun cannot be refused: it ends too soon, and the server closes the connection."""
        if not self.has_begun:
            await respond_refusal(self, refusal)
            return
        said = {"code": refusal.code, "reason": refusal.message}
        _log.error("response ended early", extra={"path": request.path, "method": request.method} | said)


Route = Callable[[Request, Send], Awaitable[None]]
"""Answers a request whose caller is known."""


class Http:
    """The application: `mcp` has its own protocol; everything else is a route of a path and a method."""

    def __init__(
        self,
        identify: Identify,
        check_origin: Callable[[Mapping[str, str]], int | None],
        mcp: Callable[[Scope, Receive, Send], Awaitable[None]],
        public: Mapping[str, Route],
        routes: Mapping[str, Mapping[str, Route]],
    ) -> None:
        self._identify, self._check_origin, self._mcp = identify, check_origin, mcp
        self._public, self._routes = public, routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        path: str = scope["path"]
        if path == "/mcp" or path.startswith("/mcp/"):
            await self._mcp(scope, receive, send)
            return
        request, response = Request(scope, receive), Response(send)
        try:
            await self._answer(request, response)
        except errors.Refusal as refusal:
            await response.refuse(refusal, request)
        except Exception:  # noqa: BLE001 - the outermost line: one bad request ends only itself
            _log.exception("request failed", extra={"path": path, "method": request.method})
            if not response.has_begun:
                await respond_json(
                    send, 500, {"error": "internal", "message": "The server made a mistake; it is logged."}
                )

    async def _answer(self, request: Request, send: Send) -> None:
        refused = self._check_origin(request.headers)
        if refused is not None:
            await respond_json(
                send, refused, {"error": "foreign_origin", "message": "This host or origin is not allowed."}
            )
            return
        if request.path in self._public and request.method in {"GET", "HEAD"}:
            await self._public[request.path](request, send)
            return
        request.caller = await self._identify(request.headers, request.address, request.query)
        await self._route(request)(request, send)

    def _route(self, request: Request) -> Route:
        family = _family(request.path)
        methods = (
            self._routes.get(request.path) or self._routes.get(family) or self._routes.get(_family(family))
        )
        if methods is None:
            raise errors.NotFound(
                f"There is nothing at {request.path[:100]}.", hint="GET /openapi.json lists the routes."
            )
        route = methods.get(request.method)
        if route is None:
            raise MethodNotAllowed(hint=f"Use {' or '.join(methods)}.", allow=", ".join(methods))
        return route


class MethodNotAllowed(errors.Refusal):
    """This path does not take that method."""

    code = "method_not_allowed"
    status = 405


def _family(path: str) -> str:
    """/api/memory_query belongs to /api/*, and /archives/a/b, asked twice, to /archives/*/*."""
    top = path.removesuffix("/*")
    return top.rpartition("/")[0] + "/*" + path[len(top) :]
