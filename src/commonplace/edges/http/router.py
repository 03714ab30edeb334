"""One HTTP request from its head to its answer: host and origin, caller, route, refusals.

A page of another site must not reach a server on the reader's own machine, neither directly (Origin) nor by a name
that suddenly resolves to it (Host): both are compared after parsing, never by prefix.

`HttpApplication` is the ASGI application below every route; what the routes do is in rest.py, archives.py,
project_events.py, readiness.py and mcp/http_transport.py, and `edges/application.py` lists them.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

from commonplace import errors
from commonplace.access import Caller
from commonplace.edges.http.client_address import FORWARDED_HEADER, TrustedProxies
from commonplace.edges.http.rate_limits import RateLimits
from commonplace.edges.http.refusals import ForeignHost, ForeignOrigin, InternalError, MethodNotAllowed
from commonplace.edges.http.request import ClientDisconnected, Receive, Request, Scope
from commonplace.edges.http.response import ReaderStalled, Response, Send
from commonplace.edges.limits import ClientLimits


class Identify(Protocol):
    """Who sent these headers from that address; the query is there to be refused where it holds a key."""

    def __call__(
        self, headers: Mapping[str, str], address: str, query: bytes, /, *, is_safe: bool = True
    ) -> Awaitable[Caller]: ...


Route = Callable[[Request, Response], Awaitable[None]]
Routes = Mapping[str, Mapping[str, Route]]
"""Path -> method -> route. `*` stands for one segment at the end of a path, `**` for any number of them."""

LOOPBACK_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})

_log = logging.getLogger(__name__)

_SAFE_METHODS: Final = frozenset({"GET", "HEAD"})
_MAX_ORIGIN_CHARACTERS: Final = 500
# What a browser says of a request that a page of this server, or the person, made; programs say nothing.
_OWN_SITES: Final = frozenset({"", "same-origin", "none"})
# What a browser sends when a person follows a link; a frame, an image or a script sends something else.
_LINK_HEADERS: Final = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
_ORIGIN_HINT: Final = "The operator can allow more with --allowed-hosts and --allowed-origins."
# Of two such headers a proxy may believe the first and this server the last.
_SINGLE_HEADERS: Final = frozenset({"host", "origin", "authorization", "content-length"})


class HttpApplication:
    """Public routes answer GET and HEAD without a key, and `public_posts` find their caller themselves.

    For all others the caller is identified first.
    """

    def __init__(
        self,
        identify: Identify,
        routes: Routes,
        public: Mapping[str, Route] | None = None,
        *,
        public_posts: Mapping[str, Route] | None = None,
        allowed_hosts: frozenset[str] = LOOPBACK_HOSTS,
        allowed_origins: frozenset[str] = frozenset(),
        limits: ClientLimits | None = None,
        rate_limits: RateLimits | None = None,
        trusted_proxies: TrustedProxies | None = None,
    ) -> None:
        self._identify, self._routes, self._public = identify, routes, public or {}
        self._public_posts = public_posts or {}
        self._allowed_hosts, self._allowed_origins = allowed_hosts, allowed_origins
        self._limits = limits or ClientLimits()
        self._rate_limits = rate_limits or RateLimits(0, 0)
        self._trusted_proxies = trusted_proxies or TrustedProxies()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive, self._limits)
        if FORWARDED_HEADER in request.headers:
            forwarded = request.headers[FORWARDED_HEADER]
            request.address = self._trusted_proxies.find_client(request.address, forwarded)
        response = Response(request, send)
        try:
            await self._answer_request(request, response)
        except errors.Refusal as refusal:
            await _refuse(request, response, refusal)
        except ReaderStalled:
            _log.warning("client stopped reading", extra=_describe_request(request))
        except ClientDisconnected:
            _log.debug("client disconnected", extra=_describe_request(request))
        except asyncio.CancelledError:  # the server stops and has waited long enough for this request
            if not response.has_begun:
                await response.send_refusal(_stopping())
            raise
        except Exception:  # noqa: BLE001 - the outermost line: one bad request ends only itself
            _log.exception("request failed", extra=_describe_request(request))
            if not response.has_begun:
                await response.send_refusal(InternalError())

    async def _answer_request(self, request: Request, response: Response) -> None:
        is_safe = request.method in _SAFE_METHODS
        public = self._find_public(request.path) if is_safe else self._public_posts.get(request.path)
        self._require_allowed(request, may_be_linked=is_safe and public is not None)
        self._rate_limits.require_address(request.address)
        if public is not None and (is_safe or request.method == "POST"):
            await public(request, response)
            return
        request.caller = await self._identify(
            request.headers, request.address, request.query, is_safe=is_safe
        )
        self._rate_limits.require_key(request.caller.key)
        await self._find_route(request)(request, response)

    def _require_allowed(self, request: Request, *, may_be_linked: bool) -> None:
        require_allowed_origin(
            request.headers, self._allowed_hosts, self._allowed_origins, may_be_linked=may_be_linked
        )
        if repeated := _SINGLE_HEADERS & request.repeated_headers:
            raise errors.Invalid(f"The header {min(repeated)} is repeated.", hint="Send it once.")

    def _find_public(self, path: str) -> Route | None:
        """A page is also found with a slash at its end, as people type it."""
        return self._public.get(path) or self._public.get(path.rstrip("/"))

    def _find_route(self, request: Request) -> Route:
        methods = self._routes.get(request.path) or self._find_family(request.path)
        if methods is None:
            raise errors.NotFound(
                f"There is nothing at {request.path[:100]}.", hint="GET /openapi.json lists the routes."
            )
        route = methods.get(request.method)
        if route is None:
            raise MethodNotAllowed(hint=f"Use {' or '.join(methods)}.", allow=", ".join(methods))
        return route

    def _find_family(self, path: str) -> Mapping[str, Route] | None:
        """/api/memory_query belongs to /api/*, /archives/a/b to /archives/*/*, /mcp/x/core to /mcp/**."""
        above, _, _ = path.rpartition("/")
        top, _, _ = above.rpartition("/")
        first = "/".join(path.split("/", 2)[:2])
        patterns = (f"{above}/*", f"{top}/*/*", f"{first}/**")
        return next((self._routes[pattern] for pattern in patterns if pattern in self._routes), None)


def _stopping() -> errors.Unavailable:
    return errors.Unavailable(
        "The server is shutting down.",
        hint="Try again in a moment; after a write, check first whether it was done.",
        retry_after=2,
    )


async def _refuse(request: Request, response: Response, refusal: errors.Refusal) -> None:
    """Send the refusal; of an answer that has begun, end what can be ended."""
    details = _describe_request(request) | {"code": refusal.code}
    if not response.has_begun:
        await response.send_refusal(refusal)
    elif response.is_stream:  # its client resumes: the store was away, or the key was revoked
        _log.warning("stream ended", extra=details)
        await response.end_body()
    else:
        _log.error("response ended early", extra=details)


def _describe_request(request: Request) -> dict[str, Any]:
    return {"path": request.path, "method": request.method}


def require_allowed_origin(
    headers: Mapping[str, str],
    allowed_hosts: frozenset[str],
    allowed_origins: frozenset[str],
    *,
    may_be_linked: bool = False,
) -> None:
    """Raise ForeignHost or ForeignOrigin unless both headers are allowed.

    A host is allowed by its name (then with any port) or by `name:port`; "*" allows every host. An origin is allowed
    if it is this server's own, by the same name and port that the request went to, or if it is listed. A page of
    another port of this machine is foreign. Programs send no Origin and may pass; a browser that sends none, as for
    an image, tells in Sec-Fetch-Site where the request comes from. `may_be_linked`: a person may follow a link of
    another site to it, such as one in a chat.
    """
    host, origin, site = headers.get("host", ""), headers.get("origin"), headers.get("sec-fetch-site", "")
    if len(host) + len(origin or "") + len(site) > _MAX_ORIGIN_CHARACTERS:
        raise ForeignOrigin(hint=_ORIGIN_HINT)
    if may_be_linked and _LINK_HEADERS.items() <= headers.items():
        site = "none"  # the person went there, as if the address had been typed
    refusal = _find_refusal(host, origin, site, allowed_hosts, allowed_origins)
    if refusal is ForeignHost and not host:
        raise ForeignHost("The request has no Host header.", hint="Send the header Host.")
    if refusal is ForeignHost:
        hint = f"The operator can allow it with --allowed-hosts {host}"
        raise ForeignHost(f"The host '{host}' is not allowed.", hint=hint)
    if refusal is not None:
        raise refusal(hint=_ORIGIN_HINT)


@lru_cache(maxsize=1024)
def _find_refusal(
    host: str, origin: str | None, site: str, allowed_hosts: frozenset[str], allowed_origins: frozenset[str]
) -> type[ForeignOrigin] | None:
    if not _is_host_allowed(host, allowed_hosts):
        return ForeignHost
    if origin in allowed_origins:
        return None
    if origin is None:
        return None if site in _OWN_SITES else ForeignOrigin
    scheme, separator, authority = origin.partition("://")
    is_own = scheme in {"http", "https"} and separator and authority.lower() == host.lower()
    return None if is_own and site in _OWN_SITES else ForeignOrigin


def _is_host_allowed(authority: str, allowed: frozenset[str]) -> bool:
    if "*" in allowed:
        return True
    name = _parse_host_name(authority)
    return name is not None and (name in allowed or authority.lower() in allowed)


def _parse_host_name(authority: str) -> str | None:
    """The host name of an authority that is exactly `name` or `name:port`, else None."""
    try:
        parts = urlsplit(f"//{authority}")
        port = parts.port
    except ValueError:
        return None
    name = f"[{parts.hostname}]" if parts.hostname and ":" in parts.hostname else parts.hostname
    is_plain = authority.lower() in {name, f"{name}:{port}"}
    return name if is_plain else None
