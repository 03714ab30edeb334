"""MCP 2026-07-28 over HTTP: headers that repeat the body must agree with it, and each POST is one request.

Clients repeat version, method and name as headers so that a proxy can route on them.
Results come from modern_server.py; http_transport.py has read the message and chosen the era.
"""

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any, Final

from commonplace.edges.http.refusals import NotAcceptable
from commonplace.edges.http.request import Request
from commonplace.edges.http.response import Response
from commonplace.edges.mcp.host import Host, McpContext, ToolView
from commonplace.edges.mcp.messages import (
    HEADER_MISMATCH,
    HTTP_STATUS,
    INVALID_REQUEST,
    Message,
    Notification,
    ProtocolError,
    RequestId,
    compute_reply,
    encode_error,
    encode_notification,
    encode_result,
    read_params,
    require_request_id,
)
from commonplace.edges.mcp.modern.modern_server import (
    LISTEN,
    VERSION_META,
    ModernServer,
    read_required_meta,
    require_supported,
    require_version,
)
from commonplace.edges.mcp.publisher import Publisher, stream_notifications

VERSION_HEADER: Final = "mcp-protocol-version"
METHOD_HEADER: Final = "mcp-method"
NAME_HEADER: Final = "mcp-name"

_OK: Final = 200
_ACCEPTED: Final = 202
_NAME_PARAMS: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_BASE64_VALUE: Final = re.compile(r"=\?base64\?(.*)\?=")


class ModernHttp:
    def __init__(self, host: Host, publisher: Publisher, server: ModernServer) -> None:
        self._host, self._publisher, self._server = host, publisher, server

    async def post(self, request: Request, response: Response, view: ToolView, message: Message) -> None:
        if "id" not in message and "method" in message:
            require_version(request.headers.get(VERSION_HEADER, ""))
            await response.send(_ACCEPTED)
            return
        request_id = require_request_id(message)
        try:
            meta = self._check_request(message, request.headers)
        except ProtocolError as error:
            await response.send(HTTP_STATUS[error.code], encode_error(request_id, error))
            return
        channel = ModernHttpChannel(request, response)
        context = self._server.build_context(meta, request.caller, view, request.headers, channel)
        if message["method"] == LISTEN:
            await self._stream_listener(request, response, context, message)
            return
        result = self._server.compute_result(context, message)
        reply, code = await response.run_watched(compute_reply(request_id, result))
        await response.send_final(_OK if code is None else HTTP_STATUS.get(code, _OK), reply)

    def _check_request(self, message: Message, headers: Mapping[str, str]) -> dict[str, Any]:
        """Refuse a request that cannot be served; return its `_meta`."""
        params = read_params(message)
        meta = read_required_meta(params)
        _require_same_routing(message, params, meta[VERSION_META], headers)
        require_supported(meta)
        return meta

    async def _stream_listener(
        self, request: Request, response: Response, context: McpContext, message: Message
    ) -> None:
        if not request.accepts_event_stream:
            raise NotAcceptable(hint="Send Accept: application/json, text/event-stream.")
        request_id: RequestId = message["id"]
        try:
            listener, acknowledgement = await self._server.open_listener(context, message)
        except ProtocolError as error:
            await response.send(HTTP_STATUS.get(error.code, _OK), encode_error(request_id, error))
            return
        tag = self._server.subscription_tag(request_id)
        try:
            with response.watch_client(at_once=True) as watch:
                await response.send_event(encode_notification(acknowledgement))
                async for notification in stream_notifications(self._host, context, listener, tag):
                    await response.send_event(encode_notification(notification))
        finally:
            self._publisher.remove_listener(listener)
        if not watch.stopped:
            result = self._server.listen_result(request_id)
            await response.send_final(_OK, encode_result(request_id, result))


class ModernHttpChannel:
    """Sends notifications on the answer to the request itself; this era asks no questions meanwhile."""

    __slots__ = ("_request", "_response")

    def __init__(self, request: Request, response: Response) -> None:
        self._request, self._response = request, response

    async def notify(self, notification: Notification) -> None:
        if self._request.accepts_event_stream:
            await self._response.send_event(encode_notification(notification))

    async def ask(self, method: str, params: dict[str, Any]) -> Any:
        del params
        raise ProtocolError(INVALID_REQUEST, f"{method} needs a session and an event stream.")


def _require_same_routing(
    message: Message, params: dict[str, Any], version: Any, headers: Mapping[str, str]
) -> None:
    if headers.get(VERSION_HEADER) != version:
        raise ProtocolError(HEADER_MISMATCH, f"{VERSION_HEADER} differs from the version in the body.")
    method = message.get("method")
    if headers.get(METHOD_HEADER) != method:
        raise ProtocolError(HEADER_MISMATCH, f"{METHOD_HEADER} differs from the method in the body.")
    name_param = _NAME_PARAMS.get(str(method))
    if name_param is None:
        return
    name = params.get(name_param)
    if name is not None and _decode_header(headers.get(NAME_HEADER)) != name:
        raise ProtocolError(HEADER_MISMATCH, f"{NAME_HEADER} differs from params.{name_param} in the body.")


def _decode_header(header: str | None) -> str | None:
    """The value as sent, or unwrapped from `=?base64?...?=`; None where that is malformed."""
    if header is None or not header.startswith("=?"):
        return header
    wrapped = _BASE64_VALUE.fullmatch(header)
    if wrapped is None:
        return header
    try:
        value = base64.b64decode(wrapped[1], validate=True)
        # Only the canonical form: two spellings of one value would let a proxy and us disagree.
        return value.decode() if base64.b64encode(value).decode() == wrapped[1] else None
    except (binascii.Error, UnicodeDecodeError):
        return None
