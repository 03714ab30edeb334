"""MCP 2025-11-25 and older: `initialize`, subscriptions and log levels of a session, questions to the client.

It computes results and knows no transport: legacy_http.py and stdio_transport.py send them. What a session is,
legacy_sessions.py says; the methods that both eras share are in mcp/methods.py.
"""

from typing import Any, Final

from commonplace.edges.limits import ClientLimits
from commonplace.edges.mcp.host import LOG_LEVELS, Host, InputRequired, McpContext, ResourceNotFound
from commonplace.edges.mcp.legacy.legacy_sessions import LiveSession
from commonplace.edges.mcp.messages import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    RESOURCE_NOT_FOUND,
    ProtocolError,
    encode,
    require_text_param,
)
from commonplace.edges.mcp.methods import METHODS, describe_server, require_askable, server_capabilities
from commonplace.edges.mcp.publisher import Publisher

# The version to assume of a client that does not say: the last one that had no header for it.
ASSUMED_VERSION: Final = "2025-03-26"
SESSION_METHODS: Final = frozenset({"resources/subscribe", "resources/unsubscribe", "logging/setLevel"})
_MAX_INPUT_ROUNDS: Final = 8


class LegacyServer:
    def __init__(self, host: Host, publisher: Publisher, limits: ClientLimits) -> None:
        self._host, self._publisher, self._limits = host, publisher, limits

    def initialize(self, context: McpContext) -> bytes:
        return encode(
            {
                "protocolVersion": context.version,
                "capabilities": server_capabilities(logging=True),
                "serverInfo": describe_server(self._host),
                "instructions": self._host.instructions(context),
            }
        )

    async def compute_result(
        self, context: McpContext, name: str, params: dict[str, Any], live: LiveSession | None
    ) -> bytes:
        """Compute the result of any request but `initialize`, which makes the session itself."""
        if name == "ping":
            return b"{}"
        if name in SESSION_METHODS:
            return await self._change_session(context, name, params, live)
        if name not in METHODS:
            raise ProtocolError(METHOD_NOT_FOUND, f"Unknown method: {name}.")
        try:
            return await self._call_method(context, name, params)
        except ResourceNotFound as error:
            raise ProtocolError(RESOURCE_NOT_FOUND, str(error), {"uri": error.uri}) from None

    async def _call_method(self, context: McpContext, name: str, params: dict[str, Any]) -> bytes:
        for _round in range(_MAX_INPUT_ROUNDS):
            outcome = await METHODS[name](self._host, context, params)
            if not isinstance(outcome, InputRequired):
                return outcome
            await self._ask_client(context, outcome)
        raise ProtocolError(
            INVALID_REQUEST, f"The operation still needs input after {_MAX_INPUT_ROUNDS} rounds."
        )

    async def _ask_client(self, context: McpContext, required: InputRequired) -> None:
        require_askable(context, required)
        context.input_responses = {
            key: await context.channel.ask(request["method"], request.get("params", {}))
            for key, request in required.requests.items()
        }
        context.request_state = required.state

    async def _change_session(
        self, context: McpContext, name: str, params: dict[str, Any], live: LiveSession | None
    ) -> bytes:
        if live is None:
            raise ProtocolError(INVALID_REQUEST, f"{name} needs a session; send initialize first.")
        if name == "logging/setLevel":
            level = require_text_param(params, "level")
            if level not in LOG_LEVELS:
                raise ProtocolError(INVALID_PARAMS, f"params.level must be one of {', '.join(LOG_LEVELS)}.")
            live.log_level = level
        elif name == "resources/subscribe":
            await self._subscribe_session(context, require_text_param(params, "uri"), live)
        else:
            uri = require_text_param(params, "uri")
            await live.forget_subscription(uri)
            live.unsubscribe(self._publisher, uri)
        return b"{}"

    async def adopt_subscriptions(self, context: McpContext, live: LiveSession) -> None:
        """Follow what the session was subscribed to, or unsubscribed from, through another replica.

        A change may have happened since then, so each new subscription is notified once.
        """
        for uri in live.uris - live.wanted:
            live.unsubscribe(self._publisher, uri)
        for uri in live.wanted - live.uris:
            if await self._host.can_subscribe(context, uri):
                live.subscribe(self._publisher, uri)
                live.notify_subscriber(uri)

    async def _subscribe_session(self, context: McpContext, uri: str, live: LiveSession) -> None:
        if not await self._host.can_subscribe(context, uri):
            raise ProtocolError(RESOURCE_NOT_FOUND, str(ResourceNotFound(uri)), {"uri": uri})
        if await live.count_subscriptions() >= self._limits.uris_per_listener:
            raise ProtocolError(INVALID_PARAMS, f"At most {self._limits.uris_per_listener} subscriptions.")
        await live.save_subscription(uri)
        live.subscribe(self._publisher, uri)
