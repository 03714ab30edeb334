"""The era of 2026-07-28: every request stands alone and carries all that is needed to serve it."""

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from commonplace.edges.mcp import headers as mirrored_headers
from commonplace.edges.mcp.host import (
    LOG_LEVELS,
    Channel,
    Context,
    Host,
    InputRequired,
    ResourceNotFound,
    View,
)
from commonplace.edges.mcp.limits import Limits
from commonplace.edges.mcp.messages import (
    ALL_VERSIONS,
    HEADER_MISMATCH,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MODERN_VERSIONS,
    UNSUPPORTED_VERSION,
    Message,
    Notice,
    ProtocolError,
    RequestId,
    encode,
    meta_of,
    object_param,
    params_of,
)
from commonplace.edges.mcp.methods import METHODS, capabilities, check_askable, server_description
from commonplace.edges.mcp.publisher import PROMPTS, RESOURCES, TOOLS, Listener, Publisher, Topic, resource
from commonplace.edges.mcp.seal import Seal

LISTEN: Final = "subscriptions/listen"

_PREFIX: Final = "io.modelcontextprotocol/"
_VERSION: Final = _PREFIX + "protocolVersion"
_CAPABILITIES: Final = _PREFIX + "clientCapabilities"
_CLIENT: Final = _PREFIX + "clientInfo"
_LOG_LEVEL: Final = _PREFIX + "logLevel"
_SUBSCRIPTION: Final = _PREFIX + "subscriptionId"

_LIST_FLAGS: Final = {
    "toolsListChanged": TOOLS,
    "promptsListChanged": PROMPTS,
    "resourcesListChanged": RESOURCES,
}
# A list is good until list_changed says otherwise; the minute is for those who do not listen.
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


def is_claimed_by(message: Message) -> bool:
    """A message names this era by carrying a protocol version of its own."""
    params = message.get("params")
    return isinstance(params, dict) and _VERSION in meta_of(params)


def check_version(version: str) -> None:
    if version not in MODERN_VERSIONS:
        supported = {"supported": list(ALL_VERSIONS), "requested": version}
        raise ProtocolError(UNSUPPORTED_VERSION, "unsupported protocol version", supported)


def check_request(message: Message, headers: Mapping[str, str] | None) -> None:
    """The ladder every request climbs; `headers` only where the transport has them."""
    params = params_of(message)
    meta = meta_of(params)
    missing = [key for key in (_VERSION, _CAPABILITIES) if key not in meta]
    if missing:
        raise ProtocolError(INVALID_PARAMS, f"params._meta lacks {', '.join(missing)}")
    version = meta[_VERSION]
    if headers is not None:
        if headers.get(mirrored_headers.VERSION) != version:
            raise ProtocolError(
                HEADER_MISMATCH, f"{mirrored_headers.VERSION} differs from the body's version"
            )
        mirrored_headers.check_routing(message, params, headers)
    if not isinstance(version, str) or not isinstance(meta[_CAPABILITIES], dict):
        raise ProtocolError(INVALID_PARAMS, "params._meta has values of the wrong type")
    check_version(version)


class Modern:
    def __init__(
        self,
        host: Host,
        publisher: Publisher,
        seal: Seal,
        limits: Limits,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._host = host
        self._publisher = publisher
        self._seal = seal
        self._limits = limits
        self._clock = clock
        self._server = {_PREFIX + "serverInfo": server_description(host)}
        # Spliced in front of every result: what the era wants on each of them.
        meta = b'"_meta":' + encode(self._server) + b","
        self._complete = b'{"resultType":"complete",' + meta
        self._input_required = b'{"resultType":"input_required",' + meta

    def context(
        self, message: Message, *, caller: Any, view: View, headers: Mapping[str, str], channel: Channel
    ) -> Context:
        meta = meta_of(params_of(message))
        client, level = meta.get(_CLIENT), meta.get(_LOG_LEVEL)
        return Context(
            caller=caller,
            view=view,
            version=meta[_VERSION],
            client=str(client.get("name", "")) if isinstance(client, dict) else "",
            headers=headers,
            meta=meta,
            capabilities=meta[_CAPABILITIES],
            channel=channel,
            log_level=level if level in LOG_LEVELS else None,
        )

    async def answer(self, context: Context, message: Message) -> bytes:
        """The result of any request but `subscriptions/listen`, which has no end to answer with."""
        name, params = message["method"], params_of(message)
        if name == "server/discover":
            return self._stamp(name, self._discover(context))
        method = METHODS.get(name)
        if method is None:
            raise ProtocolError(METHOD_NOT_FOUND, f"no method {name}")
        self._take_inputs(context, name, params)
        try:
            outcome = await method(self._host, context, params)
        except ResourceNotFound as error:
            raise ProtocolError(INVALID_PARAMS, str(error), {"uri": error.uri}) from None
        if isinstance(outcome, InputRequired):
            return self._ask_for(context, name, params, outcome)
        return self._stamp(name, outcome)

    def check_mirrored(self, message: Message, headers: Mapping[str, str]) -> None:
        if message["method"] != "tools/call":
            return
        params = params_of(message)
        mirrored = self._host.mirrored(str(params.get("name")))
        if mirrored:
            mirrored_headers.check_mirrored(mirrored, object_param(params, "arguments"), headers)

    async def listen(self, context: Context, message: Message) -> tuple[Listener, Notice]:
        """A listener for what the client may hear of, and the acknowledgement that names it."""
        wanted = object_param(params_of(message), "notifications")
        granted: dict[str, Any] = {flag: True for flag in _LIST_FLAGS if wanted.get(flag) is True}
        topics: list[Topic] = [_LIST_FLAGS[flag] for flag in granted]
        uris = await self._permitted(context, wanted.get("resourceSubscriptions") or [])
        if uris:
            granted["resourceSubscriptions"] = uris
        topics.extend(resource(uri) for uri in uris)
        tagged = {"notifications": granted, "_meta": self.tag(message["id"])}
        return self._publisher.open(context.caller, topics), Notice(
            "notifications/subscriptions/acknowledged", tagged
        )

    def tag(self, request_id: RequestId) -> dict[str, Any]:
        return {_SUBSCRIPTION: request_id}

    def listen_result(self, request_id: RequestId) -> bytes:
        return encode({"resultType": "complete", "_meta": self._server | self.tag(request_id)})

    async def _permitted(self, context: Context, uris: Any) -> list[str]:
        if not isinstance(uris, list) or not all(isinstance(uri, str) for uri in uris):
            raise ProtocolError(INVALID_PARAMS, "resourceSubscriptions must be a list of strings")
        if len(uris) > self._limits.uris_per_listener:
            raise ProtocolError(
                INVALID_PARAMS, f"at most {self._limits.uris_per_listener} resources per listener"
            )
        return [uri for uri in dict.fromkeys(uris) if await self._host.may_subscribe(context, uri)]

    def _stamp(self, method: str, result: bytes) -> bytes:
        return self._complete + _CACHE.get(method, b"") + result[1:]

    def _discover(self, context: Context) -> bytes:
        return encode(
            {
                "supportedVersions": list(ALL_VERSIONS),
                "capabilities": capabilities(logging=True),
                "instructions": self._host.instructions(context),
            }
        )

    def _take_inputs(self, context: Context, method: str, params: dict[str, Any]) -> None:
        if "inputResponses" in params:
            responses = params["inputResponses"]
            if not isinstance(responses, dict) or not all(
                isinstance(value, dict) for value in responses.values()
            ):
                raise ProtocolError(INVALID_PARAMS, "params.inputResponses must map names to objects")
            context.input_responses = responses
        if "requestState" in params:
            context.request_state = self._open_state(context, method, params)

    def _ask_for(
        self, context: Context, method: str, params: dict[str, Any], required: InputRequired
    ) -> bytes:
        check_askable(context, required)
        rest: dict[str, Any] = {"inputRequests": required.requests}
        if required.state is not None:
            expires = int(self._clock()) + self._limits.request_state_seconds
            payload = msgspec.msgpack.encode(RequestState(expires, required.state))
            rest["requestState"] = self._seal.close(
                "state", payload, self._state_binding(context, method, params)
            )
        return self._input_required + encode(rest)[1:]

    def _open_state(self, context: Context, method: str, params: dict[str, Any]) -> str:
        token = params["requestState"]
        binding = self._state_binding(context, method, params)
        payload = self._seal.open("state", token, binding) if isinstance(token, str) else None
        if payload is not None:
            sealed = _decode_state(payload)
            if sealed.expires >= self._clock():
                return sealed.state
        raise ProtocolError(INVALID_PARAMS, "requestState is not one this server gave for this request")

    def _state_binding(self, context: Context, method: str, params: dict[str, Any]) -> str:
        name = params.get("name", params.get("uri"))
        return f"{self._host.principal(context.caller)}\0{method}\0{name}"
