"""MCP 2026-07-28: every request stands alone and carries all that is needed to serve it.

It computes results and knows no transport: modern_http.py and stdio_transport.py send them. The methods that
both eras share are in mcp/methods.py.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from commonplace.edges.limits import ClientLimits
from commonplace.edges.mcp.host import (
    LOG_LEVELS,
    ClientChannel,
    Host,
    InputRequired,
    McpContext,
    ResourceNotFound,
    ToolView,
)
from commonplace.edges.mcp.messages import (
    ALL_VERSIONS,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MODERN_VERSIONS,
    UNSUPPORTED_VERSION,
    Message,
    Notification,
    ProtocolError,
    RequestId,
    encode,
    read_meta,
    read_object_param,
    read_params,
)
from commonplace.edges.mcp.methods import METHODS, describe_server, require_askable, server_capabilities
from commonplace.edges.mcp.publisher import (
    PROMPTS_CHANGED,
    RESOURCES_CHANGED,
    TOOLS_CHANGED,
    Listener,
    Publisher,
    Topic,
    resource_topic,
)
from commonplace.edges.mcp.signed_tokens import TokenSigner

LISTEN: Final = "subscriptions/listen"

_PREFIX: Final = "io.modelcontextprotocol/"
VERSION_META: Final = _PREFIX + "protocolVersion"
_CAPABILITIES: Final = _PREFIX + "clientCapabilities"
_CLIENT: Final = _PREFIX + "clientInfo"
_LOG_LEVEL: Final = _PREFIX + "logLevel"
_SUBSCRIPTION: Final = _PREFIX + "subscriptionId"

_LIST_FLAGS: Final = {
    "toolsListChanged": TOOLS_CHANGED,
    "promptsListChanged": PROMPTS_CHANGED,
    "resourcesListChanged": RESOURCES_CHANGED,
}
# list_changed says when a list is stale; the minute is for clients that do not listen.
_LIST_CACHE: Final = b'"ttlMs":60000,"cacheScope":"private",'
_CACHE: Final = {
    "tools/list": _LIST_CACHE,
    "prompts/list": _LIST_CACHE,
    "resources/list": _LIST_CACHE,
    "resources/templates/list": _LIST_CACHE,
    "resources/read": b'"ttlMs":0,"cacheScope":"private",',
    "server/discover": _LIST_CACHE,
}


class RequestState(msgspec.Struct, array_like=True):
    expires: int
    state: str


_decode_state = msgspec.msgpack.Decoder(RequestState).decode


def is_modern(message: Message) -> bool:
    """Whether the message names this era, by carrying a protocol version of its own."""
    params = message.get("params")
    return isinstance(params, dict) and VERSION_META in read_meta(params)


def require_version(version: str) -> None:
    if version not in MODERN_VERSIONS:
        supported = {"supported": list(ALL_VERSIONS), "requested": version}
        raise ProtocolError(UNSUPPORTED_VERSION, "Unsupported protocol version.", supported)


def read_required_meta(params: dict[str, Any]) -> dict[str, Any]:
    """The request's `_meta`, with the two fields without which it cannot be served."""
    meta = read_meta(params)
    if VERSION_META in meta and _CAPABILITIES in meta:
        return meta
    missing = [key for key in (VERSION_META, _CAPABILITIES) if key not in meta]
    raise ProtocolError(INVALID_PARAMS, f"params._meta lacks {', '.join(missing)}.")


def require_supported(meta: dict[str, Any]) -> None:
    """Check types and version. Check headers before: that they disagree must be reported first."""
    version = meta[VERSION_META]
    if not isinstance(version, str) or not isinstance(meta[_CAPABILITIES], dict):
        raise ProtocolError(INVALID_PARAMS, "params._meta has values of the wrong type.")
    require_version(version)


class ModernServer:
    def __init__(
        self,
        host: Host,
        publisher: Publisher,
        signer: TokenSigner,
        limits: ClientLimits,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._host = host
        self._publisher = publisher
        self._signer = signer
        self._limits = limits
        self._clock = clock
        self._server = {_PREFIX + "serverInfo": describe_server(host)}
        # Spliced in front of every result: the fields that this era wants on each of them.
        meta = b'"_meta":' + encode(self._server) + b","
        self._complete_prefix = b'{"resultType":"complete",' + meta
        self._input_prefix = b'{"resultType":"input_required",' + meta

    def build_context(
        self,
        meta: dict[str, Any],
        caller: Any,
        view: ToolView,
        headers: Mapping[str, str],
        channel: ClientChannel,
    ) -> McpContext:
        client, level = meta.get(_CLIENT), meta.get(_LOG_LEVEL)
        return McpContext(
            caller=caller,
            view=view,
            version=meta[VERSION_META],
            client=str(client.get("name", "")) if isinstance(client, dict) else "",
            headers=headers,
            meta=meta,
            capabilities=meta[_CAPABILITIES],
            channel=channel,
            log_level=level if level in LOG_LEVELS else None,
        )

    async def compute_result(self, context: McpContext, message: Message) -> bytes:
        """Compute the result of any request but `subscriptions/listen`, which is a stream."""
        name, params = message["method"], read_params(message)
        if name == "server/discover":
            return self._complete_result(name, self._discover(context))
        method = METHODS.get(name)
        if method is None:
            raise ProtocolError(METHOD_NOT_FOUND, f"Unknown method: {name}.")
        self._read_inputs(context, name, params)
        try:
            outcome = await method(self._host, context, params)
        except ResourceNotFound as error:
            raise ProtocolError(INVALID_PARAMS, str(error), {"uri": error.uri}) from None
        if isinstance(outcome, InputRequired):
            return self._require_input(context, name, params, outcome)
        return self._complete_result(name, outcome)

    async def open_listener(self, context: McpContext, message: Message) -> tuple[Listener, Notification]:
        """Open a listener for what the caller may read, and the acknowledgement that names it."""
        requested = read_object_param(read_params(message), "notifications")
        granted: dict[str, Any] = {flag: True for flag in _LIST_FLAGS if requested.get(flag) is True}
        topics: list[Topic] = [_LIST_FLAGS[flag] for flag in granted]
        uris = await self._filter_permitted(context, requested.get("resourceSubscriptions") or [])
        if uris:
            granted["resourceSubscriptions"] = uris
        topics.extend(resource_topic(uri) for uri in uris)
        tagged = {"notifications": granted, "_meta": self.subscription_tag(message["id"])}
        return self._publisher.open_listener(context.caller, topics), Notification(
            "notifications/subscriptions/acknowledged", tagged
        )

    def subscription_tag(self, request_id: RequestId) -> dict[str, Any]:
        return {_SUBSCRIPTION: request_id}

    def listen_result(self, request_id: RequestId) -> bytes:
        return encode({"resultType": "complete", "_meta": self._server | self.subscription_tag(request_id)})

    async def _filter_permitted(self, context: McpContext, uris: Any) -> list[str]:
        if not isinstance(uris, list) or not all(isinstance(uri, str) for uri in uris):
            raise ProtocolError(INVALID_PARAMS, "resourceSubscriptions must be a list of strings.")
        if len(uris) > self._limits.uris_per_listener:
            raise ProtocolError(
                INVALID_PARAMS, f"At most {self._limits.uris_per_listener} resources per listener."
            )
        return [uri for uri in dict.fromkeys(uris) if await self._host.can_subscribe(context, uri)]

    def _complete_result(self, method: str, result: bytes) -> bytes:
        return self._complete_prefix + _CACHE.get(method, b"") + result[1:]

    def _discover(self, context: McpContext) -> bytes:
        return encode(
            {
                "supportedVersions": list(ALL_VERSIONS),
                "capabilities": server_capabilities(logging=True),
                "instructions": self._host.instructions(context),
            }
        )

    def _read_inputs(self, context: McpContext, method: str, params: dict[str, Any]) -> None:
        if "inputResponses" in params:
            responses = params["inputResponses"]
            if not isinstance(responses, dict) or not all(
                isinstance(value, dict) for value in responses.values()
            ):
                raise ProtocolError(INVALID_PARAMS, "params.inputResponses must map names to objects.")
            context.input_responses = responses
        if "requestState" in params:
            context.request_state = self._read_state(context, method, params)

    def _require_input(
        self, context: McpContext, method: str, params: dict[str, Any], required: InputRequired
    ) -> bytes:
        require_askable(context, required)
        rest: dict[str, Any] = {"inputRequests": required.requests}
        if required.state is not None:
            expires = int(self._clock()) + self._limits.request_state_seconds
            payload = msgspec.msgpack.encode(RequestState(expires, required.state))
            rest["requestState"] = self._signer.sign(
                "state", payload, self._bind_state(context, method, params)
            )
        return self._input_prefix + encode(rest)[1:]

    def _read_state(self, context: McpContext, method: str, params: dict[str, Any]) -> str:
        token = params["requestState"]
        binding = self._bind_state(context, method, params)
        payload = self._signer.read("state", token, binding) if isinstance(token, str) else None
        if payload is not None:
            issued = _decode_state(payload)
            if issued.expires >= self._clock():
                return issued.state
        raise ProtocolError(
            INVALID_PARAMS, "requestState was not issued by this server for this request, or has expired."
        )

    def _bind_state(self, context: McpContext, method: str, params: dict[str, Any]) -> str:
        name = params.get("name", params.get("uri"))
        return f"{self._host.principal(context.caller)}\0{method}\0{name}"
