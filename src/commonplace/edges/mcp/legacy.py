"""The era of `initialize`: 2025-11-25 and older. What a session is, stands in its token, not here."""

from collections.abc import Mapping
from typing import Any, Final

from commonplace.edges.mcp.host import (
    LOG_LEVELS,
    Context,
    Host,
    InputRequired,
    ResourceNotFound,
)
from commonplace.edges.mcp.limits import Limits
from commonplace.edges.mcp.messages import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    LEGACY_VERSIONS,
    METHOD_NOT_FOUND,
    RESOURCE_NOT_FOUND,
    ProtocolError,
    encode,
    text_param,
)
from commonplace.edges.mcp.methods import METHODS, capabilities, check_askable, server_description
from commonplace.edges.mcp.publisher import LISTS, Listener, Publisher, resource

# The revision to assume of a client that does not say: the first one that had no header for it.
ASSUMED_VERSION: Final = "2025-03-26"
SESSION_METHODS: Final = frozenset({"resources/subscribe", "resources/unsubscribe", "logging/setLevel"})
_ROUNDS: Final = 8


class LiveSession:
    """What a process keeps of a session while it runs: its subscriptions, its stream, its log level."""

    DEFAULT_LEVEL: Final = LOG_LEVELS[0]
    __slots__ = ("listener", "log_level", "uris")

    def __init__(self) -> None:
        self.uris: set[str] = set()
        self.listener: Listener | None = None
        self.log_level = self.DEFAULT_LEVEL

    def listen(self, publisher: Publisher, caller: Any) -> Listener:
        """A stream for this session; the newest one is the client's, an older one ends."""
        self.leave(publisher)
        self.listener = publisher.open(caller, (*LISTS, *map(resource, self.uris)))
        return self.listener

    def leave(self, publisher: Publisher) -> None:
        if self.listener is not None:
            publisher.drop(self.listener)
            self.listener = None

    def subscribe(self, publisher: Publisher, uri: str) -> None:
        self.uris.add(uri)
        if self.listener is not None:
            publisher.add(self.listener, resource(uri))

    def unsubscribe(self, publisher: Publisher, uri: str) -> None:
        self.uris.discard(uri)
        if self.listener is not None:
            publisher.remove(self.listener, resource(uri))


class Introduction:
    """What a client says of itself in `initialize`."""

    __slots__ = ("capabilities", "client", "version")

    def __init__(self, params: Mapping[str, Any]) -> None:
        asked, client = params.get("protocolVersion"), params.get("clientInfo")
        declared = params.get("capabilities")
        self.version = asked if asked in LEGACY_VERSIONS else LEGACY_VERSIONS[0]
        self.client = str(client.get("name", "")) if isinstance(client, dict) else ""
        self.capabilities: dict[str, Any] = declared if isinstance(declared, dict) else {}


class Legacy:
    def __init__(self, host: Host, publisher: Publisher, limits: Limits) -> None:
        self._host = host
        self._publisher = publisher
        self._limits = limits

    def initialize(self, context: Context) -> bytes:
        return encode(
            {
                "protocolVersion": context.version,
                "capabilities": capabilities(logging=True),
                "serverInfo": server_description(self._host),
                "instructions": self._host.instructions(context),
            }
        )

    async def answer(
        self, context: Context, name: str, params: dict[str, Any], live: LiveSession | None
    ) -> bytes:
        """The result of any request but `initialize`, which is about the session itself."""
        if name == "ping":
            return b"{}"
        if name in SESSION_METHODS:
            return await self._change_session(context, name, params, live)
        if name not in METHODS:
            raise ProtocolError(METHOD_NOT_FOUND, f"no method {name}")
        try:
            return await self._call(context, name, params)
        except ResourceNotFound as error:
            raise ProtocolError(RESOURCE_NOT_FOUND, str(error), {"uri": error.uri}) from None

    async def _call(self, context: Context, name: str, params: dict[str, Any]) -> bytes:
        for _round in range(_ROUNDS):
            outcome = await METHODS[name](self._host, context, params)
            if not isinstance(outcome, InputRequired):
                return outcome
            await self._ask(context, outcome)
        raise ProtocolError(INVALID_REQUEST, f"the operation still lacks input after {_ROUNDS} rounds")

    async def _ask(self, context: Context, required: InputRequired) -> None:
        check_askable(context, required)
        context.input_responses = {
            key: await context.channel.ask(request["method"], request.get("params", {}))
            for key, request in required.requests.items()
        }
        context.request_state = required.state

    async def _change_session(
        self, context: Context, name: str, params: dict[str, Any], live: LiveSession | None
    ) -> bytes:
        if live is None:
            raise ProtocolError(INVALID_REQUEST, f"{name} needs a session; send initialize first")
        if name == "logging/setLevel":
            level = text_param(params, "level")
            if level not in LOG_LEVELS:
                raise ProtocolError(INVALID_PARAMS, f"params.level must be one of {', '.join(LOG_LEVELS)}")
            live.log_level = level
        elif name == "resources/subscribe":
            await self._subscribe(context, text_param(params, "uri"), live)
        else:
            live.unsubscribe(self._publisher, text_param(params, "uri"))
        return b"{}"

    async def _subscribe(self, context: Context, uri: str, live: LiveSession) -> None:
        if not await self._host.may_subscribe(context, uri):
            raise ProtocolError(RESOURCE_NOT_FOUND, f"no resource {uri}", {"uri": uri})
        if len(live.uris) >= self._limits.uris_per_listener:
            raise ProtocolError(INVALID_PARAMS, f"at most {self._limits.uris_per_listener} subscriptions")
        live.subscribe(self._publisher, uri)
