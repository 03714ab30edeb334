"""/mcp on the HTTP floor: which tools the client asked to see, and which era each message belongs to.

The floor (edges/http/) has checked host, origin and caller, and bounds the body. The eras answer:
modern/modern_http.py and legacy/legacy_http.py.
"""

import time
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from commonplace import errors
from commonplace.edges.http.refusals import MethodNotAllowed
from commonplace.edges.http.request import Request
from commonplace.edges.http.response import Response
from commonplace.edges.http.router import Route
from commonplace.edges.limits import ClientLimits
from commonplace.edges.mcp.host import Host, ToolView
from commonplace.edges.mcp.legacy.legacy_http import SESSION_HEADER, LegacyHttp
from commonplace.edges.mcp.legacy.legacy_server import LegacyServer
from commonplace.edges.mcp.legacy.legacy_sessions import LegacySessions, SubscriptionStore
from commonplace.edges.mcp.messages import (
    HEADER_MISMATCH,
    HTTP_STATUS,
    LEGACY_VERSIONS,
    ProtocolError,
    encode_error,
    read_message,
)
from commonplace.edges.mcp.modern.modern_http import (
    METHOD_HEADER,
    NAME_HEADER,
    VERSION_HEADER,
    ModernHttp,
)
from commonplace.edges.mcp.modern.modern_server import ModernServer, is_modern
from commonplace.edges.mcp.publisher import Publisher
from commonplace.edges.mcp.signed_tokens import TokenSigner

PATH: Final = "/mcp"
_OK: Final = 200
_CACHED_CHARACTERS: Final = 500
"""What a client sends is remembered only if it is short."""
_SINGLE_HEADERS: Final = frozenset({VERSION_HEADER, METHOD_HEADER, NAME_HEADER, SESSION_HEADER})


class McpHttpTransport:
    def __init__(
        self,
        host: Host,
        publisher: Publisher,
        *,
        secret: bytes,
        subscriptions: SubscriptionStore | None = None,
        limits: ClientLimits | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        bounds, signer = limits or ClientLimits(), TokenSigner(secret)
        self._limits = bounds
        self._modern = ModernHttp(host, publisher, ModernServer(host, publisher, signer, bounds, clock))
        sessions = LegacySessions(signer, publisher, bounds, clock, subscriptions)
        self._legacy = LegacyHttp(host, publisher, LegacyServer(host, publisher, bounds), sessions, bounds)

    def routes(self) -> dict[str, dict[str, Route]]:
        methods: dict[str, Route] = dict.fromkeys(("POST", "GET", "DELETE"), self.serve)
        return {PATH: methods, f"{PATH}/**": methods}

    async def serve(self, request: Request, response: Response) -> None:
        view = _require_view(request)
        try:
            if request.repeated_headers:
                _refuse_repeated_headers(request)
            if request.method == "POST":
                await self._post(request, response, view)
            elif SESSION_HEADER not in request.headers:
                raise MethodNotAllowed(hint="Send a POST.", allow="POST")
            elif request.method == "GET":
                await self._legacy.open_stream(request, response, view)
            else:
                await self._legacy.end_session(request, response)
        except ProtocolError as error:
            await response.send_final(HTTP_STATUS.get(error.code, _OK), encode_error(None, error))

    async def _post(self, request: Request, response: Response, view: ToolView) -> None:
        request.require_json()
        message = await read_message(await request.read_body(), self._limits)
        version = request.headers.get(VERSION_HEADER)
        if (version is None or version in LEGACY_VERSIONS) and not is_modern(message):
            await self._legacy.post(request, response, view, message)
        else:
            await self._modern.post(request, response, view, message)


def _refuse_repeated_headers(request: Request) -> None:
    """Of two such headers a proxy may believe the first and we the last."""
    for name in request.repeated_headers:
        if name in _SINGLE_HEADERS:
            raise ProtocolError(HEADER_MISMATCH, f"The header {name} is repeated.")


def _require_view(request: Request) -> ToolView:
    headers = request.headers
    path = request.path.removeprefix(PATH)
    chosen = path, headers.get("x-mcp-toolsets", ""), headers.get("x-mcp-readonly", "")
    is_short = sum(map(len, chosen)) <= _CACHED_CHARACTERS
    view = _parse_view(*chosen) if is_short else _parse_view.__wrapped__(*chosen)
    if view is None:
        raise errors.NotFound("There is nothing at this path.", hint="Use /mcp.")
    return view


@lru_cache(maxsize=1024)
def _parse_view(path: str, toolsets: str, readonly: str) -> ToolView | None:
    """The view of `` (what fits the client), `/readonly`, `/x/{sets}` or `/x/{sets}/readonly`; None elsewhere."""
    is_readonly = readonly.lower() in {"1", "true", "yes"}
    match path.strip("/").split("/"):
        case [""]:
            return ToolView(_parse_toolsets(toolsets), is_readonly)
        case ["readonly"]:
            return ToolView(_parse_toolsets(toolsets), readonly=True)
        case ["x", sets] if sets:
            return ToolView(_parse_toolsets(sets), is_readonly)
        case ["x", sets, "readonly"] if sets:
            return ToolView(_parse_toolsets(sets), readonly=True)
    return None


def _parse_toolsets(names: str) -> frozenset[str] | None:
    chosen = frozenset(name.strip().lower() for name in names.split(",") if name.strip())
    return chosen or None
